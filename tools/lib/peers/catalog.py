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
    """What Tombolo has and the engine does not, or what is not measured."""
    package: str = ""
    """The package with its version; empty if the engine comes with Python or as an extension."""
    needs_extension: bool = False
    """Whether the engine is an extension of SQLite that no package has. `--extension` names its file."""
    converges: bool = True
    """Whether replicas with the same changes have the same values, in whichever order the changes came."""
    writes: int = 5_000
    """The number of durable writes in a round."""


APSW = "apsw==3.54.1.0"
POLICY = "rights, rejections, a list of unsent changes, a record of the values that lose"
STORE = "a store and SQL (all users are in memory, and only its single write is durable, in a table of updates)"

PEERS = (
    Peer("cr-sqlite", "cr_sqlite", ALL_ROWS, f"{POLICY}, transport", package=APSW, needs_extension=True),
    Peer(
        "sqlite-sync", "cloudsync", ALL_ROWS, f"{POLICY}, a server of one's own", package=APSW, needs_extension=True),
    Peer(
        "SQLite sessions", "sessions", ALL_ROWS,
        "clocks (the change that comes last wins, and replicas differ), identities, rights, transport, changes that are"
        " made while no session is open",
        package=APSW, converges=False),
    Peer("Yrs, pycrdt", "yrs", IN_MEMORY, f"{STORE}, {POLICY}, transport", package="pycrdt==0.14.13"),
    Peer("Loro", "loro_map", IN_MEMORY, f"{STORE}, {POLICY}, transport", package="loro==1.17.1"),
    Peer(
        "Turso", "turso_database", LOCAL,
        "merges; its sync needs a server of Turso, so only its store is measured, with its change data capture",
        package="pyturso==0.8.3"),
    Peer(
        "libSQL", "libsql_database", LOCAL,
        "merges and change tracking (its write adds an outbox row, as an application would)", package="libsql==0.1.11"),
    Peer(
        "DoltLite", "doltlite_database", LOCAL,
        "a list of unsent changes, merges that do not stop at conflicts; its tracked write is a commit of its history",
        package="doltlite==0.51.3", writes=500),
    Peer(
        "Python's sqlite3", "sqlite_database", LOCAL,
        "everything about sync; it shows what calls from Python cost, which the others pay, too"),
)
