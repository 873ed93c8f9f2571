#ifndef C_SQLITE_STORE_H
#define C_SQLITE_STORE_H

struct sqlite3;

/// Turns SQLITE_DBCONFIG_DEFENSIVE on: SQL can then not harm the file itself. sqlite3_db_config is variadic, which
/// Swift cannot call. Returns SQLite's result code.
int csqlitestore_set_defensive(struct sqlite3 *connection);

#endif
