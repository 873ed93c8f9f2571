"""sqlite-sync: an extension of SQLite with a clock for each column. A feed is one encoded payload."""

from extension import ExtensionReplica

PAYLOAD = (
    "SELECT cloudsync_payload_encode(tbl, pk, col_name, col_value, col_version, db_version, site_id, cl, seq)"
    " FROM cloudsync_changes WHERE site_id = cloudsync_siteid() AND db_version > ?"
)


class Replica(ExtensionReplica):
    """A replica of sqlite-sync."""

    entry = "sqlite3_cloudsync_init"
    start = "SELECT cloudsync_init('user', 'cls', 1)"

    def version(self):
        """Returns the version of the extension."""
        return self.run("SELECT cloudsync_version()")[0][0]

    def cursor(self):
        """Returns the version of the newest local change."""
        return self.run("SELECT cloudsync_db_version()")[0][0]

    def changes(self, since):
        """Returns the local changes after a version."""
        return self.run(PAYLOAD, (since or 0,))[0][0]

    def apply(self, payload):
        """Merges changes, in one transaction."""
        self.transact(lambda: self.run("SELECT cloudsync_payload_decode(?)", (payload,)))

    def close(self):
        """Ends the extension, and closes the database."""
        self.run("SELECT cloudsync_terminate()")
        super().close()
