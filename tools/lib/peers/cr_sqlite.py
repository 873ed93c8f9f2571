"""cr-sqlite: an extension of SQLite with a clock for each column. A feed is the rows of its table of changes."""

from extension import ExtensionReplica


class Replica(ExtensionReplica):
    """A replica of cr-sqlite."""

    entry = "sqlite3_crsqlite_init"
    start = "SELECT crsql_as_crr('user')"

    def __init__(self, path, extension):
        super().__init__(path, extension)
        columns = [row[0] for row in self.run("SELECT name FROM pragma_table_xinfo('crsql_changes') WHERE hidden = 0")]
        names = ", ".join(f'"{name}"' for name in columns)
        self.select = f"SELECT {names} FROM crsql_changes WHERE site_id = crsql_site_id() AND db_version > ?"
        self.insert = f"INSERT INTO crsql_changes ({names}) VALUES ({', '.join('?' * len(columns))})"

    def version(self):
        """Returns the version of the extension."""
        number = self.run("SELECT crsql_version()")[0][0]
        return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"

    def cursor(self):
        """Returns the version of the newest local change."""
        return self.run("SELECT crsql_db_version()")[0][0]

    def changes(self, since):
        """Returns the local changes after a version."""
        return self.run(self.select, (since or 0,))

    def apply(self, rows):
        """Merges changes, in one transaction."""
        self.transact(lambda: self.connection.executemany(self.insert, rows))

    def close(self):
        """Ends the extension, and closes the database."""
        self.run("SELECT crsql_finalize()")
        super().close()
