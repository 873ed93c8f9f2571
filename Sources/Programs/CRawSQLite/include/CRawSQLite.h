// The floor of the benchmarks: the same work with the plain SQLite C API and prepared statements. Functions that return
// an integer return a negative number on failure, and 0 on success unless stated otherwise.
#ifndef C_RAW_SQLITE_H
#define C_RAW_SQLITE_H

#include <stdint.h>

typedef struct raw_database raw_database;

// Opens a database in WAL mode, and creates the tables of the benchmark. Uses synchronous=FULL if `full` is nonzero,
// otherwise NORMAL. Returns NULL on failure.
raw_database *raw_open(const char *path, int full);
void raw_close(raw_database *database);

// Inserts users with the uids first ..< first + count, `batch` of them per transaction.
int raw_load(raw_database *database, int64_t first, int64_t count, int64_t batch);

// Updates two columns of `count` users with pseudorandom uids below `total`. Each update is one transaction, which also
// inserts an outbox row with a JSON payload.
int raw_write_with_outbox(raw_database *database, int64_t count, int64_t total, uint64_t seed);

// Reads six columns of `count` users with pseudorandom uids below `total`, and copies the texts. Returns the sum of
// their lengths, so that the compiler cannot remove the reads.
int64_t raw_point_reads(raw_database *database, int64_t count, int64_t total, uint64_t seed);

// Upserts `count` users whose uids are `stride` apart, in one transaction. Only replaces rows with an older version.
int raw_apply_delta(raw_database *database, int64_t count, int64_t stride, int64_t version);

// Appends `count` blocks of 4 KiB to a file, each followed by fdatasync: the floor of durable commits.
int raw_fdatasync_appends(const char *path, int64_t count);

// Returns the CPU time of this process so far, in nanoseconds.
int64_t raw_cpu_nanoseconds(void);

// Returns the largest resident set size of this process so far, in bytes.
int64_t raw_peak_resident_bytes(void);

#endif
