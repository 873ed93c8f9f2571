#ifndef C_SQLITE_STORE_H
#define C_SQLITE_STORE_H

#include <stdint.h>

struct sqlite3;

/// The bytes of the file of the write-ahead log, on whatever VFS; 0 while there is none, negative when it cannot be told.
int64_t csqlitestore_log_size(struct sqlite3 *connection);

/// Turns SQLITE_DBCONFIG_DEFENSIVE on: SQL can then not harm the file itself. sqlite3_db_config is variadic, which
/// Swift cannot call. Returns SQLite's result code.
int csqlitestore_set_defensive(struct sqlite3 *connection);

#endif
