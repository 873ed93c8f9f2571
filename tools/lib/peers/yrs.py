"""Yrs through pycrdt: a map of users, each a map of fields, in memory. A feed is an encoded update."""

import importlib.metadata

from pycrdt import Doc, Map

import users
from documents import DocumentReplica


class Replica(DocumentReplica):
    """A document with all users."""

    def __init__(self, path):
        super().__init__(path)
        self.document = Doc()
        self.users = self.document.get("users", type=Map)

    def version(self):
        """Returns the version of the package."""
        return importlib.metadata.version("pycrdt")

    def observe(self):
        """Begins to collect encoded changes."""
        self.document.observe(lambda event: self.updates.append(event.update))

    def create(self, rows):
        """Writes new users, 1,000 in each transaction."""
        for batch in users.batches(rows, 1_000):
            with self.document.transaction():
                for uid, *values in batch:
                    self.users[str(uid)] = Map(dict(zip(users.FIELDS, values)))

    def edit(self, edits):
        """Sets the display name and the time of users, all in one transaction."""
        with self.document.transaction():
            for uid, name, moment in edits:
                user = self.users[str(uid)]
                user["display_name"] = name
                user["updated_at"] = moment

    def read(self, uid):
        """Returns the columns of a user. Numbers are floating-point numbers, as in JavaScript."""
        user = self.users[str(uid)].to_py()
        return (uid, *map(user.get, users.FIELDS))

    def cursor(self):
        """Returns the state vector."""
        return self.document.get_state()

    def changes(self, since):
        """Returns the changes after a state, encoded."""
        return self.document.get_update(since) if since else self.document.get_update()

    def apply(self, update):
        """Merges changes."""
        self.document.apply_update(update)
