// The basis of the benchmarks: the same work with the plain SQLite C API and prepared statements. Functions that return
// an integer return a negative number on failure, and 0 on success unless stated otherwise.
#ifndef C_RAW_SQLITE_H
#define C_RAW_SQLITE_H

#include <stdint.h>

typedef struct raw_database raw_database;

// Opens a database in WAL mode, and creates the tables of the benchmark. Uses synchronous=FULL if `full` is nonzero,
// otherwise NORMAL. Returns NULL on failure.
raw_database *raw_open(const char *path, int full);
void raw_close(raw_database *database);

// A device.

// Inserts users with the uids below `count`, `batch` of them per transaction. If `keyed` is nonzero, the table has the
// keys of the engine's tables: a row number, a unique id of 16 bytes, and a unique uid.
int raw_load(raw_database *database, int64_t count, int64_t batch, int keyed);

// Updates two columns of `count` users with pseudorandom uids below `total`. Each `batch` updates are one transaction,
// which also inserts an outbox row with a JSON payload.
int raw_write_with_outbox(raw_database *database, int64_t count, int64_t batch, int64_t total, uint64_t seed);

// Reads six columns of `count` users with pseudorandom uids below `total`, and copies the texts. Returns the sum of
// their lengths, so that the compiler cannot remove the reads.
int64_t raw_point_reads(raw_database *database, int64_t count, int64_t total, uint64_t seed);

// Opens any database, executes a query once for each of the values of its first parameter, and copies all columns of
// all rows. Returns the number of rows.
int64_t raw_list(const char *path, const char *sql, const int64_t *values, int64_t count);

// Returns the bytes of all pages of any database, with those that are still in its WAL.
int64_t raw_database_bytes(const char *path);

// Upserts `count` users whose uids are `stride` apart, in one transaction. Only replaces rows with an older version.
int raw_apply_delta(raw_database *database, int64_t count, int64_t stride, int64_t version);

// A server.

// Renames `count` users whose uids are `stride` apart, and logs each change, in one transaction.
int raw_change(raw_database *database, int64_t count, int64_t stride, int64_t version);

// Returns the sequence number of the newest logged change.
int64_t raw_last_change(raw_database *database);

// Encodes the users whose changes were logged later than `after`, as JSON objects. Returns their length in bytes.
int64_t raw_produce_delta(raw_database *database, int64_t after);

// Reads the first `rows` users and encodes them as JSON objects, `pages` times. Returns the length in bytes.
int64_t raw_encode_users(raw_database *database, int64_t pages, int64_t rows);

// Merges `edits` edits of each of `replicas` replicas into one field of `rows` users: the edit with the latest time
// wins, and the losing values are kept in a table. Each `batch` edits are one transaction. Times begin at `first`.
int raw_merge(raw_database *database, int64_t replicas, int64_t edits, int64_t rows, int64_t batch, int64_t first);

// Writes `each` changes from each of `writers` threads. A writer waits until its change is committed; the changes that
// wait are committed together.
int raw_group_commit(raw_database *database, int64_t writers, int64_t each, int64_t total, uint64_t seed);

// Sends `each` HTTP requests over each of `connections` connections to a port on loopback, one after the other, and
// reads the responses. The requests lie behind each other in `bytes`, and end at the offsets in `ends`. Returns the
// number of bytes received; negative if a response is not a success.
int64_t raw_http_load(int port, int64_t connections, int64_t each, const uint8_t *bytes, const int64_t *ends);

// The machine.

// Appends `count` blocks of 4 KiB to a file, each followed by fdatasync: the limit of durable commits.
int raw_fdatasync_appends(const char *path, int64_t count);

// Returns the CPU time of this process so far, in nanoseconds.
int64_t raw_cpu_nanoseconds(void);

// Returns the largest resident set size of this process so far, in bytes.
int64_t raw_peak_resident_bytes(void);

// Returns how often the threads of this process have waited so far. Each wait ends with a wake-up.
int64_t raw_voluntary_switches(void);

#endif
