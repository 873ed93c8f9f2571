"""SQLite through Python's own module, without synchronization."""

import sqlite3

from database import UntrackedReplica


class Replica(UntrackedReplica):
    """A database of Python's SQLite."""

    def version(self):
        """Returns the version of SQLite."""
        return sqlite3.sqlite_version

    @staticmethod
    def connect(path):
        """Opens the database."""
        return sqlite3.connect(path, isolation_level=None)
