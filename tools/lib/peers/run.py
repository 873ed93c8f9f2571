"""Measures other engines beside ours, each in turn with the C program. See tools/bench --peers.

The packages come from PyPI, into an environment that exists only during the run.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import catalog
from environment import CommandError, Environment, compile_raw_library
from report import Results, say

PROGRAM = ".build/release/syncbench"
OTHER_RUNS = ("--record", "--gate", "--plot", "--large")
MERGED_USERS = "2000"
LONGEST_MEASUREMENT = 1_800


class Options(argparse.ArgumentParser):
    """The options, with errors like those of the other tools."""

    def __init__(self):
        super().__init__(prog="tools/bench --peers", add_help=False, allow_abbrev=False)
        self.add_argument("--peers", action="store_true")
        self.add_argument("--only", type=self.rows, default=list(catalog.ALL_ROWS))
        self.add_argument("--rounds", type=self.rounds, default=5)
        self.add_argument("--rows", type=self.users, default=100_000)
        self.add_argument("--json", type=self.record)
        self.add_argument("--extension", type=self.extension, action="append", default=[])
        for option in OTHER_RUNS:
            self.add_argument(option, nargs="?", action=OtherRun)

    def error(self, message):
        """Ends the program with a message."""
        sys.exit(f"bench: {message}")

    def rows(self, text):
        """Returns the names of rows that other engines have."""
        for name in text.split(","):
            if name not in catalog.ALL_ROWS:
                self.error(f"no other engine has a row {name}; expected some of {', '.join(catalog.ALL_ROWS)}")
        return text.split(",")

    def rounds(self, text):
        """Returns the number of measurements of each pair."""
        if not text.isdecimal() or int(text) < 1:
            self.error(f"--rounds is '{text}'; expected at least 1")
        return int(text)

    def users(self, text):
        """Returns the number of users in the databases."""
        if not text.isdecimal() or int(text) < 1_000 or int(text) % 1_000:
            self.error(f"--rows is '{text}'; expected a multiple of 1000")
        return int(text)

    def record(self, text):
        """Returns the file for the figures. Fails before the measurements if it cannot be written."""
        folder = os.path.dirname(os.path.abspath(text))
        if not os.path.isdir(folder) or os.path.isdir(text):
            self.error(f"--json is '{text}'; expected a file in a folder that exists")
        return text

    def extension(self, text):
        """Returns the name of an engine, and the file of its extension."""
        name, _, file = text.partition("=")
        names = [peer.name for peer in catalog.PEERS if peer.needs_extension]
        if name not in names or not file:
            self.error(f"--extension is '{text}'; expected NAME=FILE with the name {' or '.join(names)}")
        if not os.path.isfile(file):
            self.error(f"there is no file {file}, which should be the extension {name}")
        return name, os.path.abspath(file)


class OtherRun(argparse.Action):
    """Rejects an option of another kind of run."""

    def __call__(self, parser, namespace, values, option_string=None):
        parser.error(f"--peers makes its own measurements; expected no {option_string} with it")


def measure_ours(options, folder, results):
    """Measures our rows with `syncbench`. The merge has as many users as those of the other engines."""
    rows = [row for row in options.only if row != "P6"]
    runs = [(rows, str(options.rows))] if rows else []
    if "P6" in options.only:
        runs.append((["P6"], MERGED_USERS))
    for rows, users in runs:
        say(f"measuring Tombolo: {', '.join(rows)}")
        file = folder / "ours.json"
        command = [PROGRAM, "--only", ",".join(rows), "--rows", users, "--rounds", str(options.rounds), "--json", file]
        environment = os.environ | {"TMPDIR": str(folder)}
        if subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False).returncode:
            sys.exit("bench: syncbench failed")
        results.add_ours(json.loads(file.read_text(encoding="utf-8")))


def measure_peer(peer, options, environment, results):
    """Installs one engine and measures its rows, or notes why it is left out."""
    extension = dict(options.extension).get(peer.name)
    rows = [row for row in peer.rows if row in options.only]
    if not rows:
        return
    if peer.needs_extension and not extension:
        results.leave_out(peer, f"PyPI has no package with it; name its file with --extension {peer.name}=FILE")
        return
    try:
        environment.install(peer.package)
    except CommandError as error:
        results.leave_out(peer, f"{peer.package} could not be installed: {error}")
        return
    say(f"measuring {peer.name}: {', '.join(rows)}")
    folder = environment.folder / "databases"
    arguments = [peer.name, ",".join(rows), options.rows, options.rounds, environment.library, folder]
    try:
        lines = environment.run("measure.py", arguments + ([extension] if extension else []), LONGEST_MEASUREMENT)
        results.add_peer(peer, [json.loads(line) for line in lines])
    except CommandError as error:
        results.fail(peer, str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    options = Options().parse_args()
    # An exception deletes the temporary folder on its way.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    say("building for release (the first build takes some minutes)")
    if subprocess.run(["swift", "build", "-c", "release", "--product", "syncbench"], check=False).returncode:
        sys.exit("bench: the build failed")
    results = Results()
    with tempfile.TemporaryDirectory(prefix="tombolo-peers-") as name:
        folder = pathlib.Path(name)
        environment = Environment(folder, compile_raw_library(folder))
        measure_ours(options, folder, results)
        for peer in catalog.PEERS:
            measure_peer(peer, options, environment, results)
    results.show()
    if options.json:
        results.write(options.json)
    sys.exit(bool(results.failures))


if __name__ == "__main__":
    main()
