"""The results of a run: lines, what each engine leaves out, and a record."""

import json
import time

OURS = "Tombolo"


def say(line):
    """Prints what is being done, with the time, like the other tools."""
    print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)


def text(number):
    """Returns a number as in the lines of our own benchmarks."""
    if number < 100:
        return f"{number:.3f}" if number < 1 else f"{number:.2f}"
    return f"{number:,.0f}"


class Results:
    """The figures of all engines."""

    def __init__(self):
        self.record = {}
        self.figures = []
        self.peers = []
        self.failures = []

    def add_ours(self, record):
        """Adds a record of `syncbench`. Only its ratios of CPU times and bytes are beside those of the others."""
        self.record = record | self.record | {"figures": self.record.get("figures", []) + record["figures"]}
        steady = [figure for figure in record["figures"] if figure["unit"].endswith(("/cpu-s", "bytes a row"))]
        self.figures += [figure | {"engine": OURS} for figure in steady if "ratio" in figure]

    def add_peer(self, peer, lines):
        """Adds the output of `measure.py`."""
        version, *figures = lines
        self.peers.append({
            "name": peer.name, "version": version["version"], "leavesOut": peer.leaves_out, "figures": figures})
        self.figures += [figure | {"engine": f"{peer.name} {version['version']}"} for figure in figures]

    def leave_out(self, peer, reason):
        """Notes why an engine was not measured."""
        self.peers.append({"name": peer.name, "reason": reason})
        say(f"left out: {peer.name}: {reason}")

    def fail(self, peer, reason):
        """Notes that an engine failed while it was measured."""
        self.leave_out(peer, f"it failed: {reason}")
        self.failures.append(peer.name)

    def show(self):
        """Prints a line for each figure, ordered by row, and one for each engine."""
        for figure in sorted(self.figures, key=lambda figure: int(figure["row"][1:])):
            title = ", ".join(part for part in (figure["name"], figure.get("size")) if part)
            rates = f"{text(figure['ours'])} against {text(figure['basis'])} {figure['unit']}"
            print(f"{figure['row']} {figure['ratio']:.2f} {title}: {rates} ({figure['engine']})")
        for peer in self.peers:
            if "reason" in peer:
                print(f"{peer['name']}: not measured: {peer['reason']}")
            else:
                print(f"{peer['name']} {peer['version']} leaves out: {peer['leavesOut']}")

    def write(self, file):
        """Writes our record with the other engines in it. `tools/bench --gate` reads only ours."""
        with open(file, "w", encoding="utf-8") as output:
            json.dump(self.record | {"peers": self.peers}, output, indent=2, sort_keys=True, ensure_ascii=False)
            output.write("\n")
