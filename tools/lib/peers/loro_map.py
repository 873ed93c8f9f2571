"""Loro: a map of users, each a map of fields, in memory. A feed is an encoded list of updates."""

import importlib.metadata

from loro import ExportMode, LoroDoc, LoroMap, VersionVector

import users
from documents import DocumentReplica


class Replica(DocumentReplica):
    """A document with all users."""

    def __init__(self, path):
        super().__init__(path)
        self.document = LoroDoc()
        self.users = self.document.get_map("users")

    def version(self):
        """Returns the version of the package."""
        return importlib.metadata.version("loro")

    def observe(self):
        """Begins to collect encoded changes."""
        self.subscription = self.document.subscribe_local_update(self._keep)

    def _keep(self, update):
        self.updates.append(bytes(update))
        return True

    def create(self, rows):
        """Writes new users, in one transaction."""
        for uid, *values in rows:
            user = self.users.insert_container(str(uid), LoroMap())
            for field, value in zip(users.FIELDS, values):
                user.insert(field, value)
        self.document.commit()

    def edit(self, edits):
        """Sets the display name and the time of users, all in one transaction."""
        for uid, name, moment in edits:
            user = self.users.get(str(uid)).container
            user.insert("display_name", name)
            user.insert("updated_at", moment)
        self.document.commit()

    def read(self, uid):
        """Returns the columns of a user."""
        user = self.users.get(str(uid)).container.get_value()
        return (uid, *map(user.get, users.FIELDS))

    def cursor(self):
        """Returns the version vector."""
        return self.document.oplog_vv

    def changes(self, since):
        """Returns the changes after a version, encoded."""
        return self.document.export(ExportMode.Updates(since or VersionVector()))

    def apply(self, updates):
        """Merges changes."""
        self.document.import_(updates)
