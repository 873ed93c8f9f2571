#ifndef C_SQLITE_H
#define C_SQLITE_H

#include <sqlite3.h>
#include <stdint.h>

// SQLite's API, and the parts of it that only C can call.

/// Returns the size of the WAL file in bytes, on any VFS: 0 when there is no WAL, negative when the size is unknown.
int64_t csqlite_wal_size(sqlite3 *connection);

/// Writes the contents of the WAL file over themselves and flushes them. Returns SQLite's result code.
///
/// Call it between BEGIN IMMEDIATE and the end of that transaction, so that no other connection writes to the WAL.
///
/// A flush alone does not make the writes of an earlier process durable. If that process's own flush failed, Linux
/// marks the pages clean: readers see them, but they are never written to the disk (Rebello et al.: Can Applications
/// Recover from fsync Failures?, USENIX ATC 2020).
int csqlite_rewrite_wal(sqlite3 *connection);

/// Prevents the last connection from checkpointing and deleting the WAL when it closes. Returns SQLite's result code.
///
/// Swift cannot call sqlite3_db_config, because it is variadic.
int csqlite_keep_wal_on_close(sqlite3 *connection);

/// Turns on SQLITE_DBCONFIG_DEFENSIVE, so that SQL cannot corrupt the database file. Returns SQLite's result code.
int csqlite_set_defensive(sqlite3 *connection);

/// Makes "name" always mean a column, never a string. Returns SQLite's result code.
int csqlite_refuse_double_quoted_strings(sqlite3 *connection);

#endif
