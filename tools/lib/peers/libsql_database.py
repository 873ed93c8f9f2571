"""libSQL, a fork of SQLite, without its server."""

import importlib.metadata

import libsql

from database import UntrackedReplica


class Replica(UntrackedReplica):
    """A local database of libSQL."""

    def version(self):
        """Returns the version of the package."""
        return importlib.metadata.version("libsql")

    @staticmethod
    def connect(path):
        """Opens the database."""
        return libsql.connect(path, isolation_level=None)
