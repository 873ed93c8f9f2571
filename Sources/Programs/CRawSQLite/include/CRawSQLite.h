// The floor that the benchmarks measure against: the same work with the SQLite C API alone, prepared statements, no
// layers. Every function returns 0, or a negative number when SQLite refused something.
#ifndef C_RAW_SQLITE_H
#define C_RAW_SQLITE_H

#include <stdint.h>

typedef struct raw_database raw_database;

// Opens a new database in WAL mode with the tables of the benchmark. full: synchronous=FULL, else NORMAL.
raw_database *raw_open(const char *path, int full);
void raw_close(raw_database *database);

// Inserts users with uids first ..< first + count, `batch` of them in one transaction.
int raw_load(raw_database *database, int64_t first, int64_t count, int64_t batch);

// Updates two columns of `count` users, uids drawn below `total`, each in its own transaction together with a row of
// an outbox that holds a JSON payload.
int raw_write_with_outbox(raw_database *database, int64_t count, int64_t total, uint64_t seed);

// Reads six columns of `count` users by uid, uids drawn below `total`, and copies every column out. Returns the sum of
// the lengths, so that nothing can be left out, or a negative number.
int64_t raw_point_reads(raw_database *database, int64_t count, int64_t total, uint64_t seed);

// Upserts `count` changed users whose uids are `stride` apart, in one transaction, where the version is newer.
int raw_apply_delta(raw_database *database, int64_t count, int64_t stride, int64_t version);

// Appends `count` blocks of 4 KiB to a file, each followed by fdatasync: the floor of durable commits.
int raw_fdatasync_appends(const char *path, int64_t count);

// CPU time of this process so far, in nanoseconds.
int64_t raw_cpu_nanoseconds(void);

// The largest resident set of this process so far, in bytes.
int64_t raw_peak_resident_bytes(void);

#endif
