"""SQLite through Python's own module, without synchronization."""

import platform
import sqlite3

from database import UntrackedReplica


class Replica(UntrackedReplica):
    """A database of Python's SQLite."""

    def version(self):
        """Returns the version of the module."""
        return f"{sqlite3.sqlite_version}, Python {platform.python_version()}"

    @staticmethod
    def connect(path):
        """Opens the database."""
        return sqlite3.connect(path, isolation_level=None)
