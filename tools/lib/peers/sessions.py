"""SQLite's session extension: it records the changes of tables, and another database applies them."""

import apsw

import users
from database import DatabaseReplica
from extension import connect


def _resolve(reason, _):
    """Lets the change win that is applied last. SQLite has no clocks that would tell which one is newer."""
    if reason in (apsw.SQLITE_CHANGESET_DATA, apsw.SQLITE_CHANGESET_CONFLICT):
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT


class Replica(DatabaseReplica):
    """A database whose changes are recorded by sessions."""

    connect = staticmethod(connect)

    def __init__(self, path):
        super().__init__(path)
        self.run("CREATE TABLE outbox (sequence INTEGER PRIMARY KEY, changeset BLOB NOT NULL)")
        self.session = self._begin()

    def version(self):
        """Returns the version of SQLite."""
        return apsw.sqlite_lib_version()

    def _begin(self):
        session = apsw.Session(self.connection, "main")
        session.attach("user")
        return session

    def cursor(self):
        """Begins to record, and returns the session: it cannot record from an earlier moment."""
        self.session.close()
        self.session = self._begin()
        return self.session

    def changes(self, session):
        """Returns what a session has recorded; the default is everything since the database was made."""
        return (session or self.session).changeset()

    def apply(self, changeset):
        """Applies changes, in one transaction."""
        apsw.Changeset.apply(changeset, self.connection, conflict=_resolve)

    def write(self, uid, name, moment):
        """Sets the display name and the time of one user, with the recorded change in the same transaction."""
        self.session.close()

        def body():
            session = self._begin()
            self.run(users.UPDATE, (name, moment, uid))
            self.run("INSERT INTO outbox (changeset) VALUES (?)", (session.changeset(),))
            session.close()

        self.transact(body)

    def close(self):
        """Ends the recording, and closes the database."""
        self.session.close()
        super().close()
