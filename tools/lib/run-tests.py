#!/usr/bin/env python3
"""Runs built tests. Shows progress and failures, then the slowest tests and the counts of tests and cases.

    run-tests.py LOG [--beside REGEX] COMMAND...

COMMAND is the built test program, or `swift test --skip-build`, with its arguments. Its output goes to LOG. The last line is
the closing line of the test program.

With --beside, the tests that match run in a second process, at the same time. Tests that wait for programs block the
threads of Swift's pool, which has as many threads as there are cores. In the same process, the other tests would wait
while the cores are idle.
"""

import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

NOISE = re.compile(r"^◇ |^✔ (Test|Suite) |^➜ |^↳ (Testing Library Version|Target Platform)|^\s*$|^Building|^\[\d+/\d+\]")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
CLOSING = re.compile(r"^[✔✘] Test run with (\d+) tests? in (\d+) suites? (passed|failed) after [\d.]+ seconds(?: with (\d+) issues?)?")
FAILED = re.compile(r"^✘ Test .* failed after ")
SECONDS_BETWEEN_LINES = 10


class Filter:
    """Selects the lines to show: those with more information than the progress line."""

    def __init__(self):
        self.is_inside = False

    def shows(self, line):
        # The line of a test case can continue on further lines, because of its arguments.
        if self.is_inside or line.startswith("◇ Test case "):
            self.is_inside = not line.endswith(" started.")
            return False
        return not NOISE.match(line)


class Progress:
    """Shows the progress: on a terminal, in a line that is overwritten; otherwise, in a new line every ten seconds."""

    def __init__(self, events):
        self.is_terminal = sys.stdout.isatty()
        self.began = time.monotonic()
        self.shown = self.began
        self.events = [open(file, encoding="utf-8") for file in events]
        self.cases = 0
        self.failed = 0

    def text(self):
        failed = f", {self.failed} tests failed" if self.failed else ""
        return f"{time.monotonic() - self.began:4.0f} s  {self.cases} cases done{failed}"

    def show(self):
        # All tests begin at once, and most end late, so the number of completed cases shows the progress better.
        self.cases += sum('"kind":"testCaseEnded"' in line for events in self.events for line in events)
        now = time.monotonic()
        if self.is_terminal:
            print("\r\033[K" + self.text(), end="", flush=True)
        elif now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            print(self.text(), flush=True)

    def say(self, line):
        self.clear()
        print(line, flush=True)

    def clear(self):
        if self.is_terminal:
            print("\r\033[K", end="", flush=True)


def read(events):
    """Yields the events of all programs, of each up to its first damaged line."""
    for file in events:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    break


class Report:
    """The results of a run from its events: durations, cases, and skipped tests of wider rings."""

    def __init__(self, events, times):
        self.names = {}
        self.cases = collections.Counter()
        self.seconds = collections.Counter()
        self.skipped = set()
        places, begun = {}, {}
        for record in read(events):
            payload = record["payload"]
            if record["kind"] == "test":
                if payload["kind"] == "function":
                    self.names[payload["id"]] = payload.get("displayName", payload["name"])
                    place = payload["sourceLocation"]
                    places[f"{place['fileID']}:{place['line']}"] = payload["id"]
                continue
            test = payload.get("testID")
            if test not in self.names:
                continue
            now = payload["instant"]["absolute"]
            case = (payload.get("_testCase") or {}).get("id")
            if payload["kind"] == "testSkipped":
                self.skipped.add(test)
            elif payload["kind"] == "testCaseStarted":
                begun[test, case] = now
            elif payload["kind"] == "testCaseEnded":
                self.cases[test] += 1
                self.seconds[test] += now - begun.pop((test, case), now)
            elif payload["kind"] == "testEnded" and test not in self.cases:
                # The time since the start event includes the wait for a thread, so the duration of a test without parameters
                # is unknown.
                self.cases[test] = 1

        # Durations that the tests measure themselves exclude the wait for a thread (`TestTimes`).
        measured = collections.Counter()
        for place, seconds in (line.rsplit("\t", 1) for line in open(times, encoding="utf-8")):
            if place in places:
                measured[places[place]] += float(seconds)
        self.seconds.update({test: measured[test] - self.seconds[test] for test in measured})
        # In a run with worlds, the durations of other tests in the events are mostly waits for a thread.
        self.is_narrow = os.environ.get("TOMBOLO_TEST_RING") == "unit"
        if not self.is_narrow:
            for test in list(self.seconds):
                if test not in measured and not test.startswith("SyncctlTests."):
                    del self.seconds[test]

    def slowest(self, count):
        what = "tests" if self.is_narrow else "tests with worlds, disks, or processes"
        lines = [f"the slowest {count} {what}, in seconds, summed over their cases, which run concurrently:"]
        for test, seconds in self.seconds.most_common(count):
            cases = f" ({self.cases[test]} cases)" if self.cases[test] > 1 else ""
            suite = test.split("/")[0]
            lines.append(f"  {seconds:7.1f}  {suite}: {self.names[test]}{cases}")
        return lines

    def covered(self, elapsed):
        tests, cases = collections.Counter(), collections.Counter()
        for test, count in self.cases.items():
            target = test.split(".")[0]
            tests[target] += 1
            cases[target] += count
        lines = [f"covered: {sum(tests.values())} tests with {sum(cases.values())} cases in {elapsed:.0f} s"]
        for target in sorted(tests):
            lines.append(f"  {target}: {tests[target]} tests, {cases[target]} cases")
        if self.skipped:
            lines.append(f"  skipped: {len(self.skipped)} tests, which belong to wider rings or need something that this machine lacks")
        return lines


class Run:
    """The test programs that run at the same time, and their output."""

    def __init__(self, log, progress, environment):
        self.log, self.progress, self.environment = log, progress, environment
        self.lock = threading.Lock()
        self.closings = []

    def program(self, command):
        """Runs a program to its end. Returns its status."""
        program = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = Filter()
        for raw in program.stdout:
            line = COLOR.sub("", raw.decode("utf-8", "replace").rstrip("\n"))
            with self.lock:
                self.log.write(raw)
                self.log.flush()
                if CLOSING.match(line):
                    self.closings.append(line)
                    continue
                if FAILED.match(line):
                    self.progress.failed += 1
                if lines.shows(line):
                    self.progress.say(line)
        status = program.wait()
        return status if status >= 0 else 128 - status

    def programs(self, commands):
        """Runs several programs at the same time. Returns the statuses in their order."""
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            return list(pool.map(self.program, commands))

    def closing(self, seconds):
        """The closing line, with the sums of all programs."""
        if len(self.closings) == 1:
            return self.closings[0]
        found = [CLOSING.match(line).groups() for line in self.closings]
        tests, suites, issues = (sum(int(groups[place] or 0) for groups in found) for place in (0, 1, 3))
        has_failed = any(groups[2] == "failed" for groups in found)
        words = f"Test run with {tests} tests in {suites} suites"
        if has_failed:
            return f"✘ {words} failed after {seconds:.3f} seconds with {issues} issue{'' if issues == 1 else 's'}."
        return f"✔ {words} passed after {seconds:.3f} seconds."


def main():
    log, command = sys.argv[1], sys.argv[2:]
    commands = [command]
    if command[0] == "--beside":
        regex, command = command[1], command[2:]
        commands = [command + ["--filter", regex], command + ["--skip", regex]]
    with tempfile.TemporaryDirectory() as folder:
        times = os.path.join(folder, "times")
        events = [os.path.join(folder, f"events-{number}") for number in range(len(commands))]
        for file in events + [times]:
            open(file, "w", encoding="utf-8").close()
        commands = [
            command + ["--event-stream-output-path", file, "--event-stream-version", "0"]
            for command, file in zip(commands, events)
        ]
        progress = Progress(events)
        ended = threading.Event()

        def tick():
            while not ended.wait(1):
                progress.show()

        clock = threading.Thread(target=tick, daemon=True)
        clock.start()
        with open(log, "wb") as output:
            run = Run(output, progress, dict(os.environ, TOMBOLO_TEST_TIMES=times))
            statuses = run.programs(commands)
        ended.set()
        clock.join()
        progress.clear()
        elapsed = time.monotonic() - progress.began
        report = Report(events, times)
        for line in report.slowest(20) + report.covered(elapsed):
            print(line)
        if len(run.closings) < len(commands):
            ends = ", ".join(map(str, statuses))
            print(f"a test program ended without its closing line (status {ends}); the output is in {log}")
        else:
            print(run.closing(elapsed))
    return max(statuses)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
