"""Installs, runs, upgrades, removes, and purges the Debian packages in a new Debian 12. See tools/package.

    debian-test.py FOLDER_OF_PACKAGES UNIT

It needs root and its own namespaces for mounts and processes. There is no systemd in the new Debian, so this program
starts the server as the unit says, with its environment, account, and socket for messages, and compares the system
calls that the server makes with the filter of the unit.
"""

import glob
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

RELEASE = "bookworm"
ACCOUNT = "_tombolo"
SECONDS = 300


def say(words):
    print(f"{time.strftime('%H:%M:%S')}  {words}", flush=True)


def fail(words):
    sys.exit(f"debian-test: {words}")


def expect(found, expected, what):
    if found != expected:
        fail(f"{what}: expected {expected!r}, found {found!r}")


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        fail(f"{shlex.join(words)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def mirror():
    """The mirror that this machine uses for Debian."""
    listed = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    for line in listed.splitlines():
        uri, release, component = line.split()
        if (release, component) == (RELEASE, "main"):
            return uri
    return "http://deb.debian.org/debian"


class Unit:
    """The settings of the service."""

    def __init__(self, path):
        self.settings = {}
        text = pathlib.Path(path).read_text()
        for name, value in re.findall(r"^(\w+)=(.*)$", text, re.M):
            self.settings.setdefault(name, []).append(value)

    def __getitem__(self, name):
        return self.settings[name][-1]

    def allowed_calls(self):
        """The system calls that the filter allows."""
        allowed = set()
        for value in self.settings["SystemCallFilter"]:
            if value.startswith("~"):
                allowed -= self.calls(value[1:].split())
            else:
                allowed |= self.calls(value.split())
        return allowed

    def calls(self, names):
        found = set()
        for name in names:
            if name.startswith("@"):
                listed = run("systemd-analyze", "syscall-filter", name).split("\n")[1:]
                found |= self.calls([line.strip() for line in listed if line.strip() and "#" not in line])
            else:
                found.add(name)
        return found


class Debian:
    """A new Debian in a temporary folder."""

    def __init__(self, folder):
        self.folder = folder

    def create(self):
        run("debootstrap", "--variant=minbase", RELEASE, self.folder, mirror(), cwd="/")
        for name in ("/etc/resolv.conf", "/etc/apt/apt.conf"):
            if os.path.exists(name):
                shutil.copy(name, self.folder + name)
        run("mount", "-t", "proc", "proc", f"{self.folder}/proc")
        self.sh("apt-get update -qq")

    def remove(self):
        subprocess.run(["umount", f"{self.folder}/proc"], capture_output=True, check=False)
        # Nothing below the folder may be mounted any more.
        if not os.path.ismount(f"{self.folder}/proc"):
            shutil.rmtree(self.folder)

    def sh(self, script):
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        return run("chroot", self.folder, "sh", "-ec", script, env=variables)

    def install(self, packages, *options):
        for package in packages:
            shutil.copy(package, f"{self.folder}/tmp")
        files = [f"/tmp/{os.path.basename(package)}" for package in packages]
        return self.sh(shlex.join(["apt-get", "install", "-y", "-q", "--no-install-recommends", *options, *files]))

    def file(self, path):
        """The mode and the owner of a file; empty if there is none."""
        return self.sh(f"stat -c '%a %U:%G' {path} 2>/dev/null || true").strip()


class Server:
    """The process of the service."""

    def __init__(self, debian, unit):
        self.debian = debian
        self.unit = unit
        self.trace = f"{debian.folder}.trace"
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.channel.settimeout(SECONDS)
        address = f"{debian.folder}/run/notify"
        self.channel.bind(address)
        os.chmod(address, 0o777)
        self.process = None
        self.url = None

    def start(self, launcher=()):
        variables = " ".join(self.unit.settings["Environment"])
        script = (
            f"umask {self.unit['UMask']}; set -a; HOME=/var/lib/tombolo; NOTIFY_SOCKET=/run/notify; {variables}; "
            f". {self.unit['EnvironmentFile'].removeprefix('-')}; exec {self.unit['ExecStart']}")
        account = [f"--reuid={self.unit['User']}", f"--regid={self.unit['Group']}", "--init-groups"]
        self.process = subprocess.Popen(
            [*launcher, "chroot", self.debian.folder, "env", "-i", "setpriv", *account, "sh", "-ec", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
        if not found:
            fail(f"the server wrote {line!r} and ended with {self.process.wait(SECONDS)}")
        self.url = found[1]
        expect(self.channel.recv(99), b"READY=1", "the first message to the service manager")

    def stop(self):
        # Under a launcher, the server is its descendant.
        target = run("pgrep", "-u", self.debian.sh(f"id -u {ACCOUNT}").strip(), "-x", "syncd").strip()
        os.kill(int(target), signal.SIGTERM)
        expect(self.channel.recv(99), b"STOPPING=1", "the last message to the service manager")
        expect(self.process.wait(SECONDS), 0, "the status of the server")

    def check_trace(self):
        """Checks that the sandbox of the unit allows all that the server did."""
        own = None
        calls = {}
        for line in open(self.trace, errors="replace"):
            found = re.match(r"(\d+) +(\w+)\((.*)", line)
            if own is None:
                own = found and found[2] == "execve" and found[3].startswith(f'"{self.unit["ExecStart"]}"') or None
            if own and found:
                calls.setdefault(found[2], []).append(found[3])
        if not own or "epoll_wait" not in calls and "epoll_pwait" not in calls:
            fail("the system calls of the server were not recorded")
        allowed = self.unit.allowed_calls()
        # Filters of systemd always allow these.
        refused = sorted(set(calls) - allowed - {"execve", "exit", "exit_group", "rt_sigreturn", "restart_syscall"})
        expect(refused, [], "system calls that SystemCallFilter refuses")
        families = {line.split(",")[0] for line in calls["socket"]}
        expect(families - set(self.unit["RestrictAddressFamilies"].split()), set(), "socket families that are refused")
        for name in ("mmap", "mprotect", "pkey_mprotect"):
            both = [line for line in calls.get(name, []) if "PROT_WRITE" in line and "PROT_EXEC" in line]
            expect(both, [], f"{name} that MemoryDenyWriteExecute refuses")
        return len(calls)


class Device:
    def __init__(self, debian, name, token):
        self.debian = debian
        self.home = f"/home/{name}"
        debian.sh(f"install -d -m 700 -o nobody -g nogroup {self.home}")
        pathlib.Path(debian.folder + self.home, "token").write_text(token)
        debian.sh(f"chown nobody:nogroup {self.home}/token; chmod 600 {self.home}/token")

    def run(self, url, *words):
        variables = {"HOME": self.home, "SYNCCTL_SERVER_URL": url, "SYNCCTL_SERVER_TOKEN_FILE": f"{self.home}/token"}
        named = " ".join(f"{name}={value}" for name, value in variables.items())
        return self.debian.sh(
            f"setpriv --reuid=nobody --regid=nogroup --clear-groups env -i {named} syncctl {shlex.join(words)}")

    def sync(self, url):
        self.run(url, "sync", "--wait", f"{SECONDS}s")


FILES = {
    "/usr/bin/syncd": "755 root:root",
    "/usr/bin/syncctl": "755 root:root",
    "/usr/sbin/tombolo-server": "755 root:root",
    "/lib/systemd/system/tombolo-server.service": "644 root:root",
    "/etc/tombolo": "755 root:root",
    "/etc/tombolo/server.conf": "644 root:root",
    "/var/lib/tombolo": f"700 {ACCOUNT}:{ACCOUNT}",
    "/usr/share/bash-completion/completions/syncctl": "644 root:root",
}


def check_files(debian, packages):
    for path, expected in FILES.items():
        expect(debian.file(path), expected, path)
    for package in packages:
        for line in run("dpkg-deb", "--contents", package).splitlines():
            mode, owner, _, _, _, path = line.split(maxsplit=5)
            expect(owner, "root/root", path)
            if mode[5] == "w" or mode[8] == "w":
                fail(f"{path} has the mode {mode}; expected one that only root can write")
    account = debian.sh(f"getent passwd {ACCOUNT}").strip().split(":")
    expect(account[5:], ["/var/lib/tombolo", "/usr/sbin/nologin"], "home and shell of the account")
    # The file of settings is all comments, and each of its names is one that the server knows.
    settings = pathlib.Path(debian.folder, "etc/tombolo/server.conf").read_text()
    expect([line for line in settings.splitlines() if line and not line.startswith("#")], [], "settings by default")
    names = set(re.findall(r"^#(SYNCD_\w+)=", settings, re.M))
    shown = debian.sh("tombolo-server config show")
    known = {"SYNCD_" + re.sub("[.-]", "_", line.split("\t")[0]).upper() for line in shown.splitlines()}
    expect(known - names, {"SYNCD_AUTHORITY_FOLDER"}, "settings that server.conf does not name")
    expect(names - known, set(), "names in server.conf that are not settings")
    expect("/var/lib/tombolo\t$SYNCD_AUTHORITY_FOLDER" in shown, True, "the folder of tombolo-server")


def newer(package, folder):
    """The same package with a higher version."""
    tree = tempfile.mkdtemp(dir=folder)
    os.chmod(tree, 0o755)
    run("dpkg-deb", "-R", package, tree)
    control = pathlib.Path(tree, "DEBIAN/control")
    control.write_text(re.sub(r"^(Version: .*)$", r"\1+test", control.read_text(), flags=re.M))
    target = f"{folder}/newer-{os.path.basename(package)}"
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, target)
    shutil.rmtree(tree)
    return target


def test(debian, unit, packages):
    say("installing")
    said = debian.install(packages)
    expect("tombolo-server token add NAME" in said, True, "the next step in the output of the installation")
    check_files(debian, packages)

    say("running the server as its unit says, and two devices")
    with open(f"{debian.folder}/etc/tombolo/server.conf", "a", encoding="utf-8") as settings:
        settings.write("SYNCD_LISTEN_PORT=0\n")
    laptop = Device(debian, "laptop", debian.sh("tombolo-server token add ned"))
    phone = Device(debian, "phone", debian.sh("tombolo-server token add ned"))
    expect(debian.file("/var/lib/tombolo/tokens"), f"600 {ACCOUNT}:{ACCOUNT}", "the tokens")
    server = Server(debian, unit)
    server.start(["strace", "-f", "-qq", "-o", server.trace])
    for device in (laptop, phone):
        device.run(server.url, "init")
    laptop.run(server.url, "user", "create", "username=Ned Stark")
    laptop.sync(server.url)
    phone.sync(server.url)
    phone.run(server.url, "user", "create", "username=Arya")
    phone.sync(server.url)
    laptop.sync(server.url)

    def check_names():
        for device in (laptop, phone):
            listed = device.run(server.url, "user", "list")
            for name in ("Ned Stark", "Arya"):
                expect(name in listed, True, f"{name} in {device.home}")
        expect(laptop.run(server.url, "digest"), phone.run(server.url, "digest"), "the digests of the devices")

    check_names()
    server.stop()
    say(f"the sandbox allows the {server.check_trace()} system calls of the server")
    expect(debian.file("/var/lib/tombolo/authority.sqlite"), f"600 {ACCOUNT}:{ACCOUNT}", "the database")

    def kept():
        """What must stay, whatever happens to the packages."""
        files = debian.sh("cd /var/lib/tombolo && find . -type f -exec sha256sum {} + | sort; stat -c '%n %a %u %g' .")
        return files + debian.sh(f"id {ACCOUNT}")

    before = kept()
    configuration = debian.sh("cat /etc/tombolo/server.conf")

    say("upgrading")
    upgraded = [newer(package, os.path.dirname(debian.folder)) for package in packages]
    debian.install(upgraded)
    expect(debian.sh("dpkg-query -W -f '${Version}' tombolo-server")[-5:], "+test", "the version")
    debian.install(upgraded, "--reinstall")
    expect(kept(), before, "the data after an upgrade")
    expect(debian.sh("cat /etc/tombolo/server.conf"), configuration, "the configuration after an upgrade")

    say("removing")
    debian.sh("apt-get remove -y -q tombolo-server tombolo-client")
    for path in ("/usr/bin/syncd", "/usr/bin/syncctl", "/lib/systemd/system/tombolo-server.service"):
        expect(debian.file(path), "", path)
    expect(kept(), before, "the data after the removal")
    expect(debian.sh("cat /etc/tombolo/server.conf"), configuration, "the configuration after the removal")

    say("purging")
    said = debian.sh("apt-get purge -y -q tombolo-server 2>&1")
    expect("kept the data in /var/lib/tombolo" in said, True, "the note in the output of the purge")
    expect(kept(), before, "the data after the purge")
    left = debian.sh("find / -xdev -name '*tombolo*' -not -path '/tmp/*' -not -path '/home/*'").split()
    expect(sorted(left), ["/var/lib/tombolo"], "files after the purge")

    say("installing again, on the data of before")
    debian.install(packages)
    check_files(debian, packages)
    with open(f"{debian.folder}/etc/tombolo/server.conf", "a", encoding="utf-8") as settings:
        settings.write("SYNCD_LISTEN_PORT=0\n")
    server.start()
    laptop.run(server.url, "user", "create", "username=Bran")
    for device in (laptop, phone):
        device.sync(server.url)
    check_names()
    expect("Bran" in phone.run(server.url, "user", "list"), True, "a later record on the other device")
    server.stop()


def main():
    # As the first process of its namespace, this one would ignore the signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    packages = sorted(glob.glob(f"{sys.argv[1]}/*.deb"))
    expect(len(packages), 2, f"packages in {sys.argv[1]}")
    folder = tempfile.mkdtemp(prefix="tombolo-debian-")
    os.chmod(folder, 0o755)
    debian = Debian(f"{folder}/root")
    try:
        debian.create()
        test(debian, Unit(sys.argv[2]), packages)
    finally:
        debian.remove()
        shutil.rmtree(folder)
    say("the packages work")


main()
