#include "database.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t raw_mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

static int prepare(sqlite3 *handle, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK ? 0 : -1;
}

int raw_step(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : -1;
}

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS user (uid INTEGER PRIMARY KEY, username TEXT, display_name TEXT, bio TEXT,"
    " avatar_uid INTEGER, updated_at INTEGER, version INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS keyed (key INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, uid INTEGER NOT NULL UNIQUE,"
    " username TEXT, display_name TEXT, bio TEXT, avatar_uid INTEGER, updated_at INTEGER, version INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS outbox (sequence INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS log (sequence INTEGER PRIMARY KEY, uid INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS clock (uid INTEGER, field INTEGER, time INTEGER, replica INTEGER,"
    " PRIMARY KEY (uid, field)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS conflict (number INTEGER PRIMARY KEY, uid INTEGER, field INTEGER, time INTEGER,"
    " replica INTEGER, value TEXT) STRICT;";

static int prepare_all(raw_database *database) {
    struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&database->begin, "BEGIN IMMEDIATE"},
        {&database->commit, "COMMIT"},
        {&database->insert, "INSERT INTO user VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
        {&database->insert_keyed,
         "INSERT INTO keyed (uid, username, display_name, bio, avatar_uid, updated_at, version, id)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
        {&database->update, "UPDATE user SET display_name = ?2, updated_at = ?3 WHERE uid = ?1"},
        {&database->outbox, "INSERT INTO outbox (payload) VALUES (?1)"},
        {&database->select,
         "SELECT uid, username, display_name, bio, avatar_uid, updated_at FROM user WHERE uid = ?1"},
        {&database->upsert,
         "INSERT INTO user VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (uid) DO UPDATE SET"
         " username = excluded.username, display_name = excluded.display_name, bio = excluded.bio,"
         " avatar_uid = excluded.avatar_uid, updated_at = excluded.updated_at, version = excluded.version"
         " WHERE excluded.version > version"},
        {&database->change, "UPDATE user SET display_name = ?2, version = ?3 WHERE uid = ?1"},
        {&database->log, "INSERT INTO log (uid) VALUES (?1)"},
        {&database->changes, "SELECT uid FROM log WHERE sequence > ?1 ORDER BY sequence"},
        {&database->clock,
         "INSERT INTO clock VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET time = excluded.time,"
         " replica = excluded.replica WHERE (excluded.time, excluded.replica) > (clock.time, clock.replica)"},
        {&database->merge, "UPDATE user SET display_name = ?2 WHERE uid = ?1"},
        {&database->conflict, "INSERT INTO conflict (uid, field, time, replica, value) VALUES (?1, ?2, ?3, ?4, ?5)"},
    };
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        if (prepare(database->handle, all[index].sql, all[index].statement)) return -1;
    }
    return 0;
}

raw_database *raw_open(const char *path, int full) {
    raw_database *database = calloc(1, sizeof *database);
    if (!database) return NULL;
    if (sqlite3_open_v2(path, &database->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL, NULL,
                     NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, schema, NULL, NULL, NULL) != SQLITE_OK || prepare_all(database)) {
        raw_close(database);
        return NULL;
    }
    return database;
}

void raw_close(raw_database *database) {
    if (!database) return;
    sqlite3_stmt *statement;
    while ((statement = sqlite3_next_stmt(database->handle, NULL))) sqlite3_finalize(statement);
    sqlite3_close(database->handle);
    free(database);
}

void raw_bind_user(sqlite3_stmt *statement, int64_t uid, int64_t version) {
    static const char bio[] = "likes long walks on the sandbar when the tide is out";
    char username[32], display_name[48];
    uint64_t salt = raw_mix((uint64_t)uid);
    int username_length = snprintf(username, sizeof username, "user%lld", (long long)uid);
    int display_length =
        snprintf(display_name, sizeof display_name, "SimulatedUser %06llx", (unsigned long long)(salt & 0xFFFFFF));
    sqlite3_bind_int64(statement, 1, uid);
    sqlite3_bind_text(statement, 2, username, username_length, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 3, display_name, display_length, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 4, bio, sizeof bio - 1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 5, (int64_t)(salt % 100000));
    sqlite3_bind_int64(statement, 6, 1700000000000 + uid);
    sqlite3_bind_int64(statement, 7, version);
}

int raw_load(raw_database *database, int64_t count, int64_t batch, int keyed) {
    sqlite3_stmt *insert = keyed ? database->insert_keyed : database->insert;
    for (int64_t done = 0; done < count; done += batch) {
        if (raw_step(database->begin)) return -1;
        for (int64_t uid = done; uid < count && uid < done + batch; uid++) {
            raw_bind_user(insert, uid, 1);
            // In the order of creation, like the ids of the engine's records.
            uint8_t id[16] = {0};
            for (int byte = 0; byte < 8; byte++) id[8 + byte] = (uint8_t)((uint64_t)uid >> (56 - 8 * byte));
            if (keyed) sqlite3_bind_blob(insert, 8, id, sizeof id, SQLITE_TRANSIENT);
            if (raw_step(insert)) return -1;
        }
        if (raw_step(database->commit)) return -1;
    }
    return 0;
}

int raw_write_with_outbox(raw_database *database, int64_t count, int64_t batch, int64_t total, uint64_t seed) {
    size_t capacity = (size_t)batch * 512, used = 0;
    char name[48], *payload = malloc(capacity);
    if (!payload) return -1;
    int failed = 0;
    for (int64_t index = 0; index < count && !failed; index++) {
        int64_t uid = (int64_t)(raw_mix(seed + (uint64_t)index) % (uint64_t)total);
        int name_length = snprintf(name, sizeof name, "Renamed %lld", (long long)index);
        if (index % batch == 0) {
            used = (size_t)snprintf(payload, capacity, "{\"space\":\"default\",\"mutations\":[");
            failed = raw_step(database->begin);
        } else {
            payload[used++] = ',';
        }
        used += (size_t)snprintf(
            payload + used, capacity - used,
            "{\"collection\":\"user\",\"record\":"
            "\"018f0000-0000-7000-8000-%012llx\",\"time\":%lld,\"update\":[{\"field\":\"display_name\",\"value\":\"%s\","
            "\"before\":\"SimulatedUser\",\"seen\":1},"
            "{\"field\":\"updated_at\",\"value\":%lld,\"before\":0,\"seen\":1}]}",
            (unsigned long long)uid, (long long)index, name, (long long)index);
        sqlite3_bind_int64(database->update, 1, uid);
        sqlite3_bind_text(database->update, 2, name, name_length, SQLITE_TRANSIENT);
        sqlite3_bind_int64(database->update, 3, index);
        failed = failed || raw_step(database->update);
        if (index % batch == batch - 1 || index == count - 1) {
            memcpy(payload + used, "]}", 2);
            sqlite3_bind_text(database->outbox, 1, payload, (int)used + 2, SQLITE_STATIC);
            failed = failed || raw_step(database->outbox) || raw_step(database->commit);
        }
    }
    sqlite3_clear_bindings(database->outbox);
    free(payload);
    return failed ? -1 : 0;
}

int64_t raw_point_reads(raw_database *database, int64_t count, int64_t total, uint64_t seed) {
    int64_t length = 0;
    for (int64_t index = 0; index < count; index++) {
        sqlite3_bind_int64(database->select, 1, (int64_t)(raw_mix(seed + (uint64_t)index) % (uint64_t)total));
        if (sqlite3_step(database->select) == SQLITE_ROW) {
            char copy[256];
            for (int column = 1; column <= 3; column++) {
                int bytes = sqlite3_column_bytes(database->select, column);
                if (bytes > (int)sizeof copy) bytes = (int)sizeof copy;
                memcpy(copy, sqlite3_column_text(database->select, column), (size_t)bytes);
                length += bytes + copy[0] % 2;
            }
            length += sqlite3_column_int64(database->select, 4) % 2 + sqlite3_column_int64(database->select, 5) % 2;
        }
        if (sqlite3_reset(database->select) != SQLITE_OK) return -1;
    }
    return length;
}

int64_t raw_list(const char *path, const char *sql, const int64_t *values, int64_t count) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t rows = -1;
    if (sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        prepare(handle, sql, &statement) == 0) {
        rows = 0;
        for (int64_t index = 0; index < count; index++) {
            sqlite3_bind_int64(statement, 1, values[index]);
            int code;
            while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                int64_t sum = 0;
                for (int column = 0; column < sqlite3_column_count(statement); column++) {
                    char copy[256];
                    int type = sqlite3_column_type(statement, column);
                    if (type == SQLITE_INTEGER) sum += sqlite3_column_int64(statement, column);
                    if (type != SQLITE_TEXT && type != SQLITE_BLOB) continue;
                    int bytes = sqlite3_column_bytes(statement, column);
                    if (bytes > (int)sizeof copy) bytes = (int)sizeof copy;
                    memcpy(copy, sqlite3_column_blob(statement, column), (size_t)bytes);
                    sum += copy[0];
                }
                // Uses the sum, so that the compiler cannot remove the reads.
                rows += sum == INT64_MIN ? 2 : 1;
            }
            sqlite3_reset(statement);
            if (code != SQLITE_DONE) rows = INT64_MIN / 2;
        }
    }
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return rows;
}

int64_t raw_database_bytes(const char *path) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t bytes = -1;
    if (sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        prepare(handle, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", &statement) == 0 &&
        sqlite3_step(statement) == SQLITE_ROW)
        bytes = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return bytes;
}

int raw_fdatasync_appends(const char *path, int64_t count) {
    char block[4096];
    memset(block, 0x5A, sizeof block);
    int file = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    int status = 0;
    for (int64_t index = 0; index < count && !status; index++) {
        if (write(file, block, sizeof block) != (ssize_t)sizeof block || fdatasync(file)) status = -1;
    }
    close(file);
    return status;
}

int64_t raw_cpu_nanoseconds(void) {
    struct timespec time;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) ? -1 : (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t raw_peak_resident_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? -1 : (int64_t)usage.ru_maxrss * 1024;
}

int64_t raw_voluntary_switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? -1 : (int64_t)usage.ru_nvcsw;
}
