#!/usr/bin/env python3
"""Runs the shipped programs with faults, and then checks that every saved name can still be found.

    outside.py --programs FOLDER [--from SEED] [--seeds N] [--steps N] [--keep]

Each seed runs a server and three devices of one account, as processes over loopback. Users create, rename, and delete
records. Syncs and the server are killed, the server is restored from an old backup without notice, and a device's
folder is overwritten with that of another device or with an old copy of itself. At the end, all devices sync. Then, for
every name that a command has reported as saved, at least one of these conditions must hold:

- A device shows a record with this name.
- A command has renamed or deleted the record on a device that showed this name.
- The journal of a device whose folder contains the write has the name.
- No folder contains the write anymore, because each one that did was overwritten.

The script uses only exit statuses and the output of the commands. It has no knowledge of versions, stamps, client ids,
or merge rules. It ignores two documented limits: after a restore of the server, a delete may be undone, and a record
that several devices have changed may keep the name from another device.

Exit status: 0 if nothing was lost, 1 otherwise.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEVICES = ["device0", "device1", "device2"]
LONGEST_COMMAND = 120
LONGEST_START = 120
SYNCS_AT_THE_END = 8


class Broken(Exception):
    """A violation of what the programs guarantee, with a description."""


class Saved:
    """A name that a command has reported as saved."""

    def __init__(self, record, device):
        self.record = record
        self.holders = {device}
        self.may_be_lost = False


class World:
    def __init__(self, programs, folder, seed):
        self.programs = programs
        self.folder = folder
        self.random = random.Random(seed)
        self.log = open(f"{folder}/log", "w", encoding="utf-8")
        self.server = None
        self.port = 0
        self.names = 0
        self.saved = {}
        self.replaced = set()
        self.editors = {}
        self.copies = {}
        self.has_backup = False
        os.mkdir(self.path("server"), 0o700)
        self.token = subprocess.run(
            [f"{programs}/syncd", "token", "add", "user"],
            env=self.server_variables(), capture_output=True, text=True, check=True,
        ).stdout.strip()
        self.start_server()
        for device in DEVICES:
            if self.run(device, "init").returncode != 0:
                raise Broken(f"{device} cannot be initialized")

    def path(self, name):
        return f"{self.folder}/{name}"

    def note(self, *words):
        print(*words, file=self.log, flush=True)

    # The server

    def variables(self):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SYNCCTL_", "SYNCD_"))}
        return own | {"SYNCCTL_ENVIRONMENT": "development", "SYNCD_ENVIRONMENT": "development"}

    def server_variables(self):
        return self.variables() | {
            "SYNCD_AUTHORITY_FOLDER": self.path("server"),
            "SYNCD_LISTEN_PORT": str(self.port),
            "SYNCD_LISTEN_PORT_FILE": self.path("port"),
        }

    def start_server(self):
        if os.path.exists(self.path("port")):
            os.remove(self.path("port"))
        with open(self.path("server.log"), "a", encoding="utf-8") as output:
            self.server = subprocess.Popen(
                [f"{self.programs}/syncd"], env=self.server_variables(), stdout=output, stderr=output)
        deadline = time.monotonic() + LONGEST_START
        while not self.read_port():
            if self.server.poll() is not None:
                raise Broken(f"the server ended with status {self.server.returncode}: see server.log")
            if time.monotonic() > deadline:
                raise Broken(f"the server did not start within {LONGEST_START} s: see server.log")
            time.sleep(0.02)
        self.port = int(self.read_port())

    def read_port(self):
        try:
            with open(self.path("port"), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def stop_server(self, number=signal.SIGKILL):
        if self.server:
            self.server.send_signal(number)
            self.server.wait()
            self.server = None

    # The devices

    def device_variables(self, device):
        return self.variables() | {
            "SYNCCTL_STORE_FOLDER": self.path(device),
            "SYNCCTL_SERVER_URL": f"http://127.0.0.1:{self.port}",
            "SYNCCTL_SERVER_TOKEN": self.token,
        }

    def run(self, device, *words):
        try:
            result = subprocess.run(
                [f"{self.programs}/syncctl", *words], env=self.device_variables(device), capture_output=True,
                text=True, timeout=LONGEST_COMMAND, check=False)
        except subprocess.TimeoutExpired as error:
            raise Broken(f"syncctl {' '.join(words)} on {device} did not end in {LONGEST_COMMAND} s") from error
        self.note(device, *words, "->", result.returncode, result.stdout.strip()[-200:], result.stderr.strip()[-300:])
        return result

    def lines(self, device, *words):
        result = self.run(device, *words, "--json")
        if result.returncode != 0:
            raise Broken(f"syncctl {' '.join(words)} on {device} ended with status {result.returncode}")
        return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]

    def users(self, device):
        return {user["id"]: user["username"] for user in self.lines(device, "user", "list")}

    # The operations of users

    def write(self, device):
        users = self.users(device)
        chance = self.random.random()
        if chance < 0.4 or not users:
            name = self.next_name()
            if self.run(device, "user", "create", f"username={name}").returncode == 0:
                made = [record for record, shown in self.users(device).items() if shown == name]
                self.save(name, made[0] if made else None, device)
            return
        record = self.random.choice(sorted(users))
        if chance < 0.85:
            name = self.next_name()
            if self.run(device, "user", "set", record, f"username={name}").returncode == 0:
                self.replaced.add(users[record])
                self.save(name, record, device)
        elif self.run(device, "user", "delete", record).returncode == 0:
            self.replaced.add(users[record])
            self.editors.setdefault(record, set()).add(device)

    def next_name(self):
        self.names += 1
        return f"name{self.names}"

    def save(self, name, record, device):
        self.saved[name] = Saved(record, device)
        self.editors.setdefault(record, set()).add(device)

    def restore(self, device):
        entries = self.lines(device, "journal", "list")
        if entries:
            self.run(device, "journal", "restore", str(self.random.choice(entries)["entry"]))

    def sync_and_kill(self, device):
        with subprocess.Popen(
            [f"{self.programs}/syncctl", "sync"], env=self.device_variables(device), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as sync:
            time.sleep(self.random.random() * 0.1)
            if self.random.random() < 0.5:
                self.note(device, "is killed in its sync")
                sync.kill()
            else:
                self.note("the server is killed in a sync of", device)
                self.stop_server()
            sync.wait()
        if not self.server:
            self.start_server()

    # Faults

    def back_up(self):
        self.stop_server(signal.SIGTERM)
        shutil.rmtree(self.path("backup"), ignore_errors=True)
        shutil.copytree(self.path("server"), self.path("backup"))
        self.has_backup = True
        self.note("the server is backed up")
        self.start_server()

    def put_back(self):
        if not self.has_backup:
            return
        self.stop_server()
        shutil.rmtree(self.path("server"))
        shutil.copytree(self.path("backup"), self.path("server"))
        for saved in self.saved.values():
            saved.may_be_lost = True
        self.note("the server is put back to its backup")
        self.start_server()

    def copy(self, device):
        source = self.random.choice([other for other in DEVICES if other != device])
        held = {name for name, saved in self.saved.items() if source in saved.holders}
        self.replace(device, self.path(source), held, f"by a copy of {source}")

    def keep_copy(self, device):
        folder = self.path(f"{device}.copy")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.path(device), folder)
        self.copies[device] = {name for name, saved in self.saved.items() if device in saved.holders}
        self.note("a copy is kept of", device)

    def roll_back(self, device):
        if device in self.copies:
            self.replace(device, self.path(f"{device}.copy"), self.copies[device], "by an old copy of itself")

    def replace(self, device, folder, held, words):
        """Replaces a device's folder. Names that only the old folder contained may be lost, as the user expects."""
        shutil.rmtree(self.path(device))
        shutil.copytree(folder, self.path(device))
        for name, saved in self.saved.items():
            if name in held:
                saved.holders.add(device)
            else:
                saved.holders.discard(device)
        self.note(device, "is replaced", words)

    def step(self):
        device = self.random.choice(DEVICES)
        events = [
            (55, lambda: self.write(device)), (20, lambda: self.run(device, "sync")),
            (6, lambda: self.sync_and_kill(device)), (4, self.back_up), (3, self.put_back),
            (3, lambda: self.copy(device)), (2, lambda: self.keep_copy(device)), (2, lambda: self.roll_back(device)),
            (3, lambda: self.restore(device)), (2, lambda: self.run(device, "doctor", "--fix")),
        ]
        weights = [weight for weight, _ in events]
        self.random.choices([event for _, event in events], weights)[0]()

    # The checks

    def check(self):
        for _ in range(SYNCS_AT_THE_END):
            for device in DEVICES:
                self.run(device, "sync", "--allow-deletes", "--wait", "10s")
        digests = {self.run(device, "digest").stdout for device in DEVICES}
        if len(digests) != 1:
            raise Broken("after the last syncs, the devices have different records")
        shown = {name for device in DEVICES for name in self.users(device).values()}
        journals = {device: self.journal(device) for device in DEVICES}
        for name, saved in self.saved.items():
            if not saved.holders or name in self.replaced or name in shown:
                continue
            if saved.may_be_lost and not self.editors[saved.record] <= saved.holders:
                continue
            if any(re.search(rf"\b{name}\b", journals[device]) for device in saved.holders):
                continue
            raise Broken(f"{name} of {saved.record} was saved on {sorted(saved.holders)}, but no device shows it")

    def journal(self, device):
        entries = self.lines(device, "journal", "list", "--all", "--limit", "10000")
        return "".join(self.run(device, "journal", "show", str(entry["entry"])).stdout for entry in entries)


def run(arguments, seed):
    folder = tempfile.mkdtemp(prefix=f"outside-{seed}-")
    world = None
    is_kept = arguments.keep
    try:
        world = World(arguments.programs, folder, seed)
        for _ in range(arguments.steps):
            world.step()
        world.check()
        print(f"seed {seed}: {len(world.saved)} names saved, nothing lost", flush=True)
        return True
    except Broken as broken:
        print(f"seed {seed}: {broken}; the files of the run are in {folder}", flush=True)
        is_kept = True
        return False
    finally:
        if world:
            world.stop_server()
            world.log.close()
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="Folder of syncd and syncctl.")
    parser.add_argument("--from", dest="first", type=int, default=0, help="First seed.")
    parser.add_argument("--seeds", type=int, default=20, help="Number of seeds.")
    parser.add_argument("--steps", type=int, default=120, help="Number of steps in each seed.")
    parser.add_argument("--keep", action="store_true", help="Keep the folders of all seeds.")
    arguments = parser.parse_args()
    results = [run(arguments, seed) for seed in range(arguments.first, arguments.first + arguments.seeds)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
