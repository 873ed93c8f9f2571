#!/usr/bin/env python3
"""Runs built tests. Shows progress and failures, then the slowest tests and the counts of tests and cases.

    run-tests.py LOG COMMAND...

COMMAND is the built test program, or `swift test --skip-build`, with its arguments. Its output goes to LOG. The last line is
the closing line of the test program.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

NOISE = re.compile(r"^◇ |^✔ (Test|Suite) |^➜ |^↳ (Testing Library Version|Target Platform)|^mutant  |^\s*$|^Building|^\[\d+/\d+\]")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
CLOSING = re.compile(r"^[✔✘] Test run with ")
FAILED = re.compile(r"^✘ Test .* failed after ")
SECONDS_BETWEEN_LINES = 10


class Filter:
    """Selects the lines to show: those with more information than the progress line."""

    def __init__(self):
        self.is_inside = False

    def shows(self, line):
        # The arguments of a case can have several lines.
        if self.is_inside or line.startswith("◇ Test case "):
            self.is_inside = not line.endswith(" started.")
            return False
        return not NOISE.match(line)


class Progress:
    """Shows one line that is overwritten on a terminal, or a line every ten seconds elsewhere."""

    def __init__(self, events):
        self.is_terminal = sys.stdout.isatty()
        self.began = time.monotonic()
        self.shown = self.began
        self.events = open(events, encoding="utf-8")
        self.cases = 0
        self.failed = 0

    def text(self):
        failed = f", {self.failed} tests failed" if self.failed else ""
        return f"{time.monotonic() - self.began:4.0f} s  {self.cases} cases done{failed}"

    def show(self):
        # All tests begin at once and end late, so the count of cases shows more progress.
        self.cases += sum('"kind":"testCaseEnded"' in line for line in self.events)
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
    with open(events, encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return


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
                # The start event of a test without parameters includes the wait for a thread, so its duration is unknown.
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
        lines = [f"the slowest {count} {what}, in seconds of all their cases, which run beside each other:"]
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
            lines.append(f"  left out: {len(self.skipped)} tests of wider rings, or without what they need on this machine")
        return lines


def main():
    log, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        events = os.path.join(folder, "events")
        times = os.path.join(folder, "times")
        for file in (events, times):
            open(file, "w", encoding="utf-8").close()
        command += ["--event-stream-output-path", events, "--event-stream-version", "0"]
        progress = Progress(events)
        closing = None
        environment = dict(os.environ, TOMBOLO_TEST_TIMES=times)
        program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ended = threading.Event()
        lines = Filter()

        def tick():
            while not ended.wait(1):
                progress.show()

        clock = threading.Thread(target=tick, daemon=True)
        clock.start()
        with open(log, "wb") as copy:
            for raw in program.stdout:
                copy.write(raw)
                copy.flush()
                line = COLOR.sub("", raw.decode("utf-8", "replace").rstrip("\n"))
                if CLOSING.match(line):
                    closing = line
                    continue
                if FAILED.match(line):
                    progress.failed += 1
                if lines.shows(line):
                    progress.say(line)
        status = program.wait()
        ended.set()
        clock.join()
        progress.clear()
        report = Report(events, times)
        for line in report.slowest(20) + report.covered(time.monotonic() - progress.began):
            print(line)
        if closing is None:
            print(f"the test program ended with {status} and without its closing line; its output is in {log}")
        else:
            print(closing)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
