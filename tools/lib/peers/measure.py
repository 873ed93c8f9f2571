"""Measures one engine beside the C program, in turn, in this process. Prints each figure as a line of JSON.

    measure.py PEER ROWS USERS ROUNDS LIBRARY FOLDER [EXTENSION]

ROWS is a list such as P3,P4. `tools/bench --peers` runs this program in the environment with the packages.
"""

import contextlib
import json
import os
import sys

import catalog
from benchmark import Benchmark
from raw import RawLibrary


def main():
    name, rows, total, rounds, library, folder, *extension = sys.argv[1:]
    peer = next(peer for peer in catalog.PEERS if peer.name == name)
    raw = RawLibrary(library)
    # Engines may print what they do.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        options = {"extension": extension[0]} if extension else {}
        benchmark = Benchmark(peer, int(total), int(rounds), raw, folder, options)
        results.write(json.dumps({"version": benchmark.version()}) + "\n")
        for figure in benchmark.figures(rows.split(",")):
            results.write(json.dumps(figure) + "\n")


if __name__ == "__main__":
    main()
