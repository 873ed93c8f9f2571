#!/usr/bin/env python3
"""Builds the application of the guide "Get started" as a separate package, outside of this one, and uses it.

The files are exact copies of those in the guide. FOLDER gets two entries: the application, and a link to this package.
The script builds the application, runs its test, and starts its server. Then one device writes, and another device shows
the write.

With --by-url, the application depends on a version of this package at a URL: a clone in which the last commit has a
version tag. With --only-build, the script ends after the build.

    outside-package.py FOLDER [--build-system NAME] [--by-url] [--only-build]
"""
import argparse
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "Sources/Root/Tombolo/Tombolo.docc/GetStarted.md"


def files(guide):
    """Returns the names and the contents of the files, each of which follows its name in the guide."""
    return re.findall(r"`([\w./-]+\.swift)`:\n\n```swift\n(.*?)```", guide, re.S)


def git(*arguments):
    return subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True, text=True).stdout.strip()


def publish(folder):
    """Clones this repository, tags the last commit with a version, and returns the declaration of the dependency."""
    # Each commit gets a different version, because SwiftPM refuses a version whose commit has changed.
    version = f"1.0.{git('-C', ROOT, 'log', '-1', '--format=%ct')}"
    remote = folder / "tombolo.git"
    shutil.rmtree(remote, ignore_errors=True)
    git("clone", "--quiet", "--bare", ROOT, remote)
    git("-C", remote, "tag", "--force", version, git("-C", ROOT, "rev-parse", "HEAD"))
    return f'.package(url: "file://{remote}", exact: "{version}")'


def write_package(folder, by_url):
    by_path = '.package(path: "../tombolo")'
    dependency = by_path
    if by_url:
        dependency = publish(folder.parent)
    elif not (link := folder.parent / "tombolo").is_symlink():
        link.symlink_to(ROOT)
    for name, text in files(GUIDE.read_text()):
        if name == "Package.swift":
            if by_path not in text:
                sys.exit(f"the guide does not contain {by_path}")
            text = text.replace(by_path, dependency)
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    # These are the versions of this package's dependencies, so that SwiftPM does not resolve them again.
    (folder / "Package.resolved").write_text((ROOT / "Package.resolved").read_text())


class Program:
    """A program that runs in a terminal, so that it prints each line immediately."""

    def __init__(self, arguments, environment):
        self.output = ""
        self.name = arguments[0]
        self.reader, writer = pty.openpty()
        self.process = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
        os.close(writer)

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.output)):
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"{self.name}: no '{pattern}' in: {self.output}")
            if select.select([self.reader], [], [], 0.2)[0]:
                self.output += os.read(self.reader, 65536).decode(errors="replace")
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.reader)


def use(folder, bin_path):
    home = folder / "homes"
    server_environment = os.environ | {"HOME": str(home / "server"), "TODOSERVER_ENVIRONMENT": "development"}
    for name in ("server", "phone", "tablet"):
        (home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    token = home / "laptop.token"
    token.unlink(missing_ok=True)
    subprocess.run([bin_path / "todo-server", "token", "add", "laptop", "--output", token], env=server_environment, check=True)
    port_file = home / "port"
    port_file.unlink(missing_ok=True)
    server = Program([bin_path / "todo-server", "--port", "0", "--port-file", port_file], server_environment)
    running = [server]
    try:
        end = time.monotonic() + 60
        while not port_file.exists() or not port_file.read_text().strip():
            if time.monotonic() > end:
                sys.exit("the server has not started to listen within 60 s")
            time.sleep(0.1)

        def device(name):
            return os.environ | {
                "HOME": str(home / name), "TODO_ENVIRONMENT": "development",
                "TODO_SERVER_URL": f"http://127.0.0.1:{port_file.read_text().strip()}", "TODO_SERVER_TOKEN_FILE": str(token),
            }

        phone, tablet = Program([bin_path / "todo"], device("phone")), Program([bin_path / "todo"], device("tablet"))
        running += [phone, tablet]
        phone.wait_for(r"\[")
        subprocess.run([bin_path / "todo", "Milk"], env=device("phone"), check=True)
        for shown in (phone, tablet):
            shown.wait_for(r'\["Milk"\]')
    finally:
        for program in reversed(running):
            program.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build-system", help="native or swiftbuild; default: that of SwiftPM")
    parser.add_argument("--by-url", action="store_true")
    parser.add_argument("--only-build", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve() / "todo"
    folder.mkdir(parents=True, exist_ok=True)
    write_package(folder, options.by_url)
    # Users do not set the variables of this package's tools, such as the one that turns warnings into errors.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOMBOLO_")}
    swift = ["--package-path", str(folder)]
    if options.build_system:
        swift += ["--build-system", options.build_system]
    started = time.monotonic()
    subprocess.run(["swift", "build", *swift, "--build-tests"], env=environment, check=True)
    print(f"built in {time.monotonic() - started:.0f} s")
    if options.only_build:
        return
    subprocess.run(["swift", "test", *swift, "--skip-build"], env=environment, check=True)
    bin_path = subprocess.run(
        ["swift", "build", *swift, "--show-bin-path"], env=environment, check=True, capture_output=True, text=True)
    use(folder, pathlib.Path(bin_path.stdout.strip()))
    code = sum(line.strip() != "" for name, text in files(GUIDE.read_text()) if name != "Package.swift" for line in text.splitlines())
    print(f"the application of the guide works: {code} lines of code, not counting Package.swift")


if __name__ == "__main__":
    main()
