"""Runs servers and devices over a PostgreSQL primary with a standby, under faults. See tools/cluster.

    cluster.py FOLDER_OF_PROGRAMS ROUNDS [--haproxy]

With --haproxy, all devices talk to HAProxy, which spreads their requests over the servers. Without it, each command of a
device talks to the next server.
"""

import ctypes
import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

# The longest time that a command of a device may take, in seconds.
LONGEST_COMMAND = 120
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


def say(words):
    print(f"{time.strftime('%H:%M:%S')}  {words}", flush=True)


def fail(words):
    sys.exit(f"cluster: {words}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes:
    """The processes of a run. If this program dies, the kernel kills them."""

    def __init__(self):
        self.running = []

    def start(self, words, log, user=None, **options):
        def prepare():
            if user is not None:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            # The change of the user resets this setting, so it comes last.
            ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)

        with open(log, "ab") as output:
            process = subprocess.Popen(
                words, stdout=output, stderr=output, stdin=subprocess.DEVNULL, preexec_fn=prepare, **options)
        self.running.append(process)
        return process

    def end(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.kill()
                process.wait()


class Database:
    """A PostgreSQL server: the primary, or a standby of it that confirms every commit."""

    def __init__(self, processes, folder, name, port):
        self.processes = processes
        self.folder = f"{folder}/{name}"
        self.log = f"{folder}/{name}.log"
        self.port = port
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        self.process = None

    def run(self, program, *words):
        self.processes.start([f"{self.programs}/{program}", *words], self.log, self.user, cwd="/").wait()

    def create(self):
        self.run("initdb", "-D", self.folder, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C")

    def copy(self, primary):
        self.run("pg_basebackup", "-D", self.folder, "-R", "-d",
                 f"host=127.0.0.1 port={primary.port} user=tester application_name=standby")

    def start(self, *settings):
        words = [f"{self.programs}/postgres", "-D", self.folder, "-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        for setting in settings:
            words += ["-c", setting]
        self.process = self.processes.start(words, self.log, self.user, cwd="/")
        self.wait("SELECT 1")

    def wait(self, sql, wanted=None):
        while True:
            if self.process.poll() is not None:
                fail(f"PostgreSQL ended; see {self.log}")
            found = subprocess.run(
                [f"{self.programs}/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-d", "postgres",
                 "-Atc", sql], capture_output=True, text=True)
            if found.returncode == 0 and wanted in (None, found.stdout.strip()):
                return
            time.sleep(0.05)

    def promote(self):
        self.run("pg_ctl", "promote", "-D", self.folder, "-w")
        self.wait("SELECT pg_is_in_recovery()", "f")


class Server:
    def __init__(self, run, number, connection):
        self.run = run
        self.name = f"server {number}"
        self.folder = f"{run.folder}/server{number}"
        self.log = f"{run.folder}/server{number}.log"
        self.port = free_port()
        self.variables = {**run.variables, "SYNCD_AUTHORITY_POSTGRES": connection}
        self.process = None

    def start(self):
        self.process = self.run.processes.start(
            [f"{self.run.programs}/syncd", "--folder", self.folder, "--port", str(self.port)], self.log,
            env=self.variables)
        while True:
            if self.process.poll() is not None:
                fail(f"{self.name} ended: {open(self.log).read()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Balancer:
    """HAProxy in front of the servers. The guide "Run several servers" has the same configuration."""

    CONFIGURATION = """
        defaults
          mode http
          timeout connect 5s
          timeout client 60s
          timeout server 60s
          option redispatch
          retries 3

        frontend devices
          bind 127.0.0.1:{port}
          default_backend servers

        backend servers
          balance roundrobin
          option httpchk GET /healthz
          default-server check inter 500ms fall 2 rise 1
          {servers}
        """

    def __init__(self, run, servers):
        self.port = free_port()
        path = f"{run.folder}/haproxy.cfg"
        lines = [f"server {server.name.replace(' ', '')} 127.0.0.1:{server.port}" for server in servers]
        with open(path, "w") as file:
            file.write(textwrap.dedent(self.CONFIGURATION).format(port=self.port, servers="\n  ".join(lines)))
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        log = f"{run.folder}/haproxy.log"
        process = run.processes.start([program, "-db", "-f", path], log)
        while True:
            if process.poll() is not None:
                fail(f"HAProxy ended: {open(log).read()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)


class Device:
    """A device that writes while servers and the database fail. Each command uses the balancer, or the next server."""

    def __init__(self, run, name):
        self.run = run
        self.name = name
        self.folder = f"{run.folder}/{name}"
        self.token = f"{run.folder}/{name}.token"
        self.saved = []
        self.turn = len(name)
        self.failures = 0

    def program(self, *words):
        self.turn += 1
        server = self.run.balancer or self.run.servers[self.turn % len(self.run.servers)]
        variables = {
            **self.run.variables, "SYNCCTL_STORE_FOLDER": self.folder, "SYNCCTL_SERVER_TOKEN_FILE": self.token,
            "SYNCCTL_SERVER_URL": f"http://127.0.0.1:{server.port}",
        }
        return subprocess.run(
            [f"{self.run.programs}/syncctl", *words], env=variables, capture_output=True, text=True, timeout=LONGEST_COMMAND)

    def expect(self, *words):
        done = self.program(*words)
        if done.returncode != 0:
            fail(f"{self.name}: syncctl {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def write(self, until):
        number = 0
        while not until.is_set():
            number += 1
            name = f"{self.name}.{number}"
            if self.program("user", "create", f"username={name}").returncode == 0:
                self.saved.append(name)
            # If a sync fails, the write stays in the outbox.
            if self.program("sync", "--wait", "5s").returncode != 0:
                self.failures += 1


class Run:
    def __init__(self, programs, rounds, uses_balancer):
        self.programs = os.path.abspath(programs)
        self.rounds = rounds
        self.folder = tempfile.mkdtemp(prefix="tombolo-cluster-")
        os.chmod(self.folder, 0o755)
        self.processes = Processes()
        self.variables = {
            "HOME": self.folder, "PATH": os.environ["PATH"], "SYNCD_ENVIRONMENT": "test", "SYNCCTL_ENVIRONMENT": "test",
            "SWIFT_BACKTRACE": "enable=no", "LANG": "C.UTF-8",
        }
        self.servers = []
        self.uses_balancer = uses_balancer
        self.balancer = None
        self.devices = []
        self.writers = []

    def database(self, name):
        database = Database(self.processes, self.folder, name, free_port())
        os.mkdir(database.folder, 0o700)
        if database.user is not None:
            os.chown(database.folder, database.user.pw_uid, database.user.pw_gid)
        with open(database.log, "ab"):
            pass
        if database.user is not None:
            os.chown(database.log, database.user.pw_uid, database.user.pw_gid)
        return database

    def prepare(self):
        say("starting PostgreSQL, and a standby that confirms every commit")
        primary, standby = self.database("primary"), self.database("standby")
        primary.create()
        primary.start("synchronous_standby_names=standby")
        # The primary waits for the standby before it commits anything, so no commit is missing on the standby.
        standby.copy(primary)
        standby.start()
        connection = (
            f"host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port} user=tester dbname=postgres "
            "target_session_attrs=read-write")
        self.servers = [Server(self, number, connection) for number in (1, 2)]
        self.devices = [Device(self, name) for name in ("anna", "ben", "carla", "dirk")]
        first = self.servers[0]
        for device in self.devices:
            subprocess.run(
                [f"{self.programs}/syncd", "token", "add", device.name, "--folder", first.folder, "--output",
                 device.token], env=self.variables, check=True)
        os.mkdir(self.servers[1].folder, 0o700)
        shutil.copy2(f"{first.folder}/tokens", f"{self.servers[1].folder}/tokens")
        say("starting two servers over it, and four devices")
        for server in self.servers:
            server.start()
        if self.uses_balancer:
            say("starting HAProxy in front of them")
            self.balancer = Balancer(self, self.servers)
        for device in self.devices:
            device.expect("init")
        return primary, standby

    def work(self, primary, standby):
        until = threading.Event()
        self.writers = [threading.Thread(target=device.write, args=(until,), daemon=True) for device in self.devices]
        for writer in self.writers:
            writer.start()
        for number in range(self.rounds):
            self.wait_for_writes()
            server = self.servers[number % 2]
            if number == self.rounds // 2:
                say("killing the primary, and promoting the standby")
                primary.process.send_signal(signal.SIGQUIT)
                primary.process.wait()
                standby.promote()
            else:
                say(f"killing {server.name} under load, and restarting it")
                server.kill()
                server.start()
        self.wait_for_writes()
        until.set()
        for writer in self.writers:
            writer.join()

    def wait_for_writes(self):
        """Waits until every device has saved at least one more write."""
        goal = {device.name: len(device.saved) + 1 for device in self.devices}
        # A device makes a write and a sync in turn.
        deadline = time.monotonic() + 2 * LONGEST_COMMAND + 60
        while waiting := [device.name for device in self.devices if len(device.saved) < goal[device.name]]:
            if not all(writer.is_alive() for writer in self.writers):
                fail(f"a writing thread has ended while these devices were writing: {waiting}")
            if time.monotonic() > deadline:
                fail(f"these devices have saved no write in time: {waiting}")
            time.sleep(0.05)

    def check(self):
        say("syncing and comparing all devices")
        for _ in range(2):
            for device in self.devices:
                device.expect("sync", "--wait", "60s")
        digests = {device.expect("digest") for device in self.devices}
        if len(digests) != 1:
            fail(f"the devices have different records: {digests}")
        lines = self.devices[0].expect("user", "list", "--json", "--limit", "1000000").splitlines()
        names = [json.loads(line)["username"] for line in lines]
        saved = [name for device in self.devices for name in device.saved]
        lost = set(saved) - set(names)
        if lost:
            fail(f"{len(lost)} saved writes are lost, such as: {sorted(lost)[:5]}")
        if len(names) != len(set(names)):
            fail("a write was applied twice")
        failures = sum(device.failures for device in self.devices)
        place = "2 servers behind HAProxy" if self.balancer else "2 servers"
        say(f"{len(saved)} writes by 4 devices through {place}, of whose syncs {failures} failed: "
            "no write is lost or applied twice, and all devices have the same records")


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--haproxy"]):
        fail("expected the folder of the programs, the number of rounds, and perhaps --haproxy")
    run = Run(sys.argv[1], int(sys.argv[2]), bool(sys.argv[3:]))
    try:
        run.work(*run.prepare())
        run.check()
    except BaseException:
        say(f"the files of the run are in {run.folder}")
        raise
    finally:
        run.processes.end()
    shutil.rmtree(run.folder)


main()
