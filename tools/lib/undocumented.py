#!/usr/bin/env python3
"""Prints the public declarations of a module that have no doc comment, from its symbol graph, and fails if there are any.

    undocumented.py GRAPH.symbols.json
"""
import json
import pathlib
import sys


def undocumented(graph):
    for symbol in graph["symbols"]:
        # The compiler adds copies of inherited declarations, such as the operators of Comparable.
        if "docComment" in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        place = symbol.get("location", {})
        file = pathlib.Path(place.get("uri", "").removeprefix("file://")).name
        line = place.get("position", {}).get("line", -1) + 1
        yield f"{file}:{line}: {'.'.join(symbol['pathComponents'])} has no doc comment"


def main():
    found = sorted(undocumented(json.loads(pathlib.Path(sys.argv[1]).read_text())))
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
