"""DoltLite, SQLite with the version history of Dolt: a tracked change is a commit of the history."""

import importlib.metadata

import doltlite  # Replaces the SQLite of the module that is imported next.
import sqlite3

import users
from database import DatabaseReplica

COMMIT = "SELECT dolt_commit('-A', '-m', 'change')"


class Replica(DatabaseReplica):
    """A database with a version history."""

    def version(self):
        """Returns the version of the package."""
        return importlib.metadata.version("doltlite")

    @staticmethod
    def connect(path):
        """Opens the database."""
        return sqlite3.connect(path, isolation_level=None)

    def changes(self, _):
        """Returns all rows."""
        return self.run("SELECT * FROM user")

    def apply(self, rows):
        """Inserts rows, and commits them to the history once."""
        self.create(rows)
        self.run(COMMIT)

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user, and commits the change to the history."""
        self.run(users.UPDATE, (name, moment, uid))
        self.run(COMMIT)
