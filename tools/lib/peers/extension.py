"""What the extensions of SQLite share: a connection that loads them."""

import apsw

from database import DatabaseReplica


def connect(path, extension="", entry=None):
    """Opens a database with APSW, which has a SQLite of its own that loads extensions."""
    connection = apsw.Connection(path)
    if extension:
        connection.enable_load_extension(True)
        connection.load_extension(extension, entry)
    return connection


class ExtensionReplica(DatabaseReplica):
    """A replica whose tracking is an extension's."""

    entry = ""
    """The function that initializes the extension."""
    start = ""
    """The statement that begins the tracking of the table."""

    def __init__(self, path, extension):
        self.extension = extension
        super().__init__(path)
        self.run(self.start)

    def connect(self, path):
        """Opens the database with the extension."""
        return connect(path, self.extension, self.entry)
