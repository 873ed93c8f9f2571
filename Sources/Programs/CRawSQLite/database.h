// What the C files of the benchmarks share.
#ifndef C_RAW_SQLITE_DATABASE_H
#define C_RAW_SQLITE_DATABASE_H

#include "CRawSQLite.h"

#include <sqlite3.h>

struct raw_database {
    sqlite3 *handle;
    sqlite3_stmt *begin, *commit, *insert, *insert_keyed, *update, *outbox, *select, *upsert, *change, *log, *changes,
        *clock, *merge, *conflict;
};

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t raw_mix(uint64_t x);

// Executes a statement that returns no rows, and resets it. Returns 0 on success.
int raw_step(sqlite3_stmt *statement);

// Binds the columns of the user with this uid.
void raw_bind_user(sqlite3_stmt *statement, int64_t uid, int64_t version);

#endif
