"""A store with SQL rows behind a Python connection, and the parts that such engines share."""

import users


class DatabaseReplica:
    """A replica whose users are rows of a SQL table. An engine adds its tracking and its changes.

    The connection has `execute` and `executemany`, and begins no transactions by itself.
    """

    def __init__(self, path):
        self.path = path
        self.connection = self.connect(path)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", users.TABLE):
            self.run(statement)

    def run(self, statement, values=()):
        """Executes a statement, and returns its rows."""
        return self.connection.execute(statement, values).fetchall()

    def transact(self, body):
        """Does some work in one transaction."""
        self.run("BEGIN IMMEDIATE")
        body()
        self.run("COMMIT")

    def create(self, rows):
        """Writes new users, 1,000 in each transaction."""
        for batch in users.batches(rows, 1_000):
            self.transact(lambda: self.connection.executemany(users.INSERT, batch))

    def edit(self, edits):
        """Sets the display name and the time of users, all in one transaction."""
        rows = [(name, moment, uid) for uid, name, moment in edits]
        self.transact(lambda: self.connection.executemany(users.UPDATE, rows))

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user, durably and tracked."""
        self.transact(lambda: self.run(users.UPDATE, (name, moment, uid)))

    def read(self, uid):
        """Returns the columns of a user."""
        return self.run(users.SELECT, (uid,))[0]

    def close(self):
        """Closes the database."""
        self.connection.close()


class UntrackedReplica(DatabaseReplica):
    """A store without synchronization: the rows of another one are inserted, and its outbox is the application's."""

    def __init__(self, path):
        super().__init__(path)
        self.run("CREATE TABLE outbox (sequence INTEGER PRIMARY KEY, payload TEXT NOT NULL)")

    def changes(self, _):
        """Returns all rows."""
        return self.run("SELECT * FROM user")

    def apply(self, rows):
        """Inserts rows."""
        self.create(rows)

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user, with an outbox row in the same transaction."""
        payload = f'{{"uid":{uid},"update":{{"display_name":"{name}","updated_at":{moment}}}}}'

        def body():
            self.run(users.UPDATE, (name, moment, uid))
            self.run("INSERT INTO outbox (payload) VALUES (?)", (payload,))

        self.transact(body)
