#ifndef C_SQLITE_STORE_H
#define C_SQLITE_STORE_H

#include <stdint.h>

struct sqlite3;

/// The bytes of the file of the write-ahead log, on whatever VFS; 0 while there is none, negative when it cannot be told.
int64_t csqlitestore_log_size(struct sqlite3 *connection);

/// Writes what stands in the log's file over itself, and flushes it. Called between BEGIN IMMEDIATE and its end, so that
/// nobody else writes to it. Returns SQLite's result code.
///
/// A flush alone does not make durable what a process before this one has written: when its own flush failed, Linux takes
/// the pages for clean. They are seen, and never written (Rebello et al.: Can Applications Recover from fsync Failures?,
/// USENIX ATC 2020).
int csqlitestore_write_log_again(struct sqlite3 *connection);

/// Lets the last connection leave the log where it is when it is closed. Returns SQLite's result code.
int csqlitestore_keep_log_on_close(struct sqlite3 *connection);

/// Turns SQLITE_DBCONFIG_DEFENSIVE on: SQL can then not harm the file itself. sqlite3_db_config is variadic, which
/// Swift cannot call. Returns SQLite's result code.
int csqlitestore_set_defensive(struct sqlite3 *connection);

#endif
