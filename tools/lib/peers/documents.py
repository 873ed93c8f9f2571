"""What engines share that keep a document in memory: a table of its encoded changes makes their writes durable."""

import sqlite3


class UpdateLog:
    """Appends each update to a SQLite database, in a transaction of its own."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("CREATE TABLE changes (sequence INTEGER PRIMARY KEY, encoded BLOB NOT NULL)")

    def append(self, encoded):
        """Makes an update durable."""
        self.connection.execute("INSERT INTO changes (encoded) VALUES (?)", (encoded,))

    def close(self):
        """Closes the database."""
        self.connection.close()


class DocumentReplica:
    """A replica whose users are a map in memory. An engine adds its document, and collects its changes in `updates`."""

    def __init__(self, path):
        self.path = path
        self.updates = []
        self.log = None

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user, and logs the change. The log begins with the first write."""
        if self.log is None:
            self.observe()
            self.log = UpdateLog(self.path)
        self.edit([(uid, name, moment)])
        self.log.append(self.updates.pop())

    def close(self):
        """Closes the log."""
        if self.log:
            self.log.close()
