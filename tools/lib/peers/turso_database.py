"""Turso, a rewrite of SQLite, without its server. Its change data capture tracks the writes."""

import importlib.metadata

import turso

from database import DatabaseReplica


class Replica(DatabaseReplica):
    """A local database of Turso."""

    captures = False

    def version(self):
        """Returns the version of the package."""
        return importlib.metadata.version("pyturso")

    @staticmethod
    def connect(path):
        """Opens the database."""
        return turso.connect(path, isolation_level=None)

    def changes(self, _):
        """Returns all rows."""
        return self.run("SELECT * FROM user")

    def apply(self, rows):
        """Inserts rows, which are not captured as local changes."""
        self.create(rows)

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user. The first write begins the capture of changes."""
        if not self.captures:
            self.run("PRAGMA capture_data_changes_conn('full')")
            self.captures = True
        super().write(uid, name, moment)
