"""The engines that `tools/bench --peers` measures, with the versions of their packages."""

import dataclasses

ALL_ROWS = ("P1", "P3", "P4", "P5", "P6", "P11")
LOCAL = ("P1", "P3", "P4", "P11")
IN_MEMORY = ("P1", "P3", "P4", "P5", "P6")


@dataclasses.dataclass(frozen=True)
class Peer:
    """An engine, and how it is installed and measured."""

    name: str
    module: str
    """The module here with the class `Replica`."""
    rows: tuple
    leaves_out: str
    package: str = ""
    """The package with its version; empty if the engine comes with Python or as an extension."""
    needs_extension: bool = False
    """Whether the engine is an extension of SQLite that no package has. `--extension` names its file."""
    converges: bool = True
    """Whether replicas with the same changes have the same values, in whichever order the changes came."""
    most_writes: int = 5_000
    """The number of durable writes in a round, at most."""


APSW = "apsw==3.54.1.0"
NO_AUTHORITY = "no rights, no rejections, no list of unsent changes, and no record of the values that lose"

PEERS = (
    Peer(
        "cr-sqlite", "cr_sqlite", ALL_ROWS, f"{NO_AUTHORITY}; no transport", package=APSW, needs_extension=True),
    Peer(
        "sqlite-sync", "cloudsync", ALL_ROWS, f"{NO_AUTHORITY}; sync needs SQLite Cloud", package=APSW,
        needs_extension=True),
    Peer(
        "SQLite sessions", "sessions", ALL_ROWS,
        "no clocks, so the change that comes last wins, and replicas differ; no identities, no rights, no transport;"
        " records changes only while a session is open",
        package=APSW, converges=False),
    Peer(
        "Yrs (pycrdt)", "yrs", IN_MEMORY,
        f"no store and no SQL: all users are in memory, and its write appends the update to a table; {NO_AUTHORITY}",
        package="pycrdt==0.14.13"),
    Peer(
        "Loro", "loro_map", IN_MEMORY,
        f"no store and no SQL: all users are in memory, and its write appends the update to a table; {NO_AUTHORITY}",
        package="loro==1.17.1"),
    Peer(
        "Turso", "turso_database", LOCAL,
        "no merge; sync needs a server of its own, so only its local store with change data capture is measured",
        package="pyturso==0.8.3"),
    Peer(
        "libSQL", "libsql_database", LOCAL,
        "no change tracking on the device and no merge; its write adds an outbox row as an application would",
        package="libsql==0.1.11"),
    Peer(
        "DoltLite", "doltlite_database", LOCAL,
        "no list of unsent changes; a merge stops at conflicts; a tracked write is a commit of its version history",
        package="doltlite==0.51.3", most_writes=500),
    Peer(
        "Python's sqlite3", "sqlite_database", LOCAL,
        "everything about sync; it shows what calls from Python cost, which the engines above pay, too"),
)
