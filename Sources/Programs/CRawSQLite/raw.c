#include "CRawSQLite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct raw_database {
    sqlite3 *handle;
    sqlite3_stmt *begin, *commit, *insert, *update, *outbox, *select, *upsert;
};

// SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

static int prepare(sqlite3 *handle, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK ? 0 : -1;
}

static int step(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : -1;
}

raw_database *raw_open(const char *path, int full) {
    raw_database *database = calloc(1, sizeof *database);
    if (!database) return NULL;
    static const char *schema =
        "CREATE TABLE IF NOT EXISTS user (uid INTEGER PRIMARY KEY, username TEXT, display_name TEXT, bio TEXT,"
        " avatar_uid INTEGER, updated_at INTEGER, version INTEGER) STRICT;"
        "CREATE TABLE IF NOT EXISTS outbox (sequence INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT;";
    if (sqlite3_open_v2(path, &database->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL, NULL,
                     NULL) != SQLITE_OK ||
        sqlite3_exec(database->handle, schema, NULL, NULL, NULL) != SQLITE_OK ||
        prepare(database->handle, "BEGIN IMMEDIATE", &database->begin) ||
        prepare(database->handle, "COMMIT", &database->commit) ||
        prepare(database->handle, "INSERT INTO user VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", &database->insert) ||
        prepare(database->handle, "UPDATE user SET display_name = ?2, updated_at = ?3 WHERE uid = ?1",
                &database->update) ||
        prepare(database->handle, "INSERT INTO outbox (payload) VALUES (?1)", &database->outbox) ||
        prepare(database->handle,
                "SELECT uid, username, display_name, bio, avatar_uid, updated_at FROM user WHERE uid = ?1",
                &database->select) ||
        prepare(database->handle,
                "INSERT INTO user VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (uid) DO UPDATE SET"
                " username = excluded.username, display_name = excluded.display_name, bio = excluded.bio,"
                " avatar_uid = excluded.avatar_uid, updated_at = excluded.updated_at, version = excluded.version"
                " WHERE excluded.version > version",
                &database->upsert)) {
        raw_close(database);
        return NULL;
    }
    return database;
}

void raw_close(raw_database *database) {
    if (!database) return;
    sqlite3_stmt *statements[] = {database->begin,  database->commit, database->insert, database->update,
                                  database->outbox, database->select, database->upsert};
    for (size_t index = 0; index < sizeof statements / sizeof *statements; index++) sqlite3_finalize(statements[index]);
    sqlite3_close(database->handle);
    free(database);
}

static void bind_user(sqlite3_stmt *statement, int64_t uid, int64_t version) {
    static const char bio[] = "likes long walks on the sandbar when the tide is out";
    char username[32], display_name[48];
    uint64_t salt = mix((uint64_t)uid);
    int username_length = snprintf(username, sizeof username, "user%lld", (long long)uid);
    int display_length =
        snprintf(display_name, sizeof display_name, "Islander %06llx", (unsigned long long)(salt & 0xFFFFFF));
    sqlite3_bind_int64(statement, 1, uid);
    sqlite3_bind_text(statement, 2, username, username_length, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 3, display_name, display_length, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 4, bio, sizeof bio - 1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 5, (int64_t)(salt % 100000));
    sqlite3_bind_int64(statement, 6, 1700000000000 + uid);
    sqlite3_bind_int64(statement, 7, version);
}

int raw_load(raw_database *database, int64_t first, int64_t count, int64_t batch) {
    for (int64_t done = 0; done < count; done += batch) {
        if (step(database->begin)) return -1;
        for (int64_t index = done; index < count && index < done + batch; index++) {
            bind_user(database->insert, first + index, 1);
            if (step(database->insert)) return -1;
        }
        if (step(database->commit)) return -1;
    }
    return 0;
}

int raw_write_with_outbox(raw_database *database, int64_t count, int64_t total, uint64_t seed) {
    char name[48], payload[512];
    for (int64_t index = 0; index < count; index++) {
        int64_t uid = (int64_t)(mix(seed + (uint64_t)index) % (uint64_t)total);
        int name_length = snprintf(name, sizeof name, "Renamed %lld", (long long)index);
        int payload_length = snprintf(
            payload, sizeof payload,
            "{\"space\":\"default\",\"mutations\":[{\"collection\":\"user\",\"record\":"
            "\"018f0000-0000-7000-8000-%012llx\",\"time\":%lld,\"update\":[{\"field\":\"display_name\",\"value\":\"%s\","
            "\"before\":\"Islander\",\"seen\":1},{\"field\":\"updated_at\",\"value\":%lld,\"before\":0,\"seen\":1}]}]}",
            (unsigned long long)uid, (long long)index, name, (long long)index);
        if (step(database->begin)) return -1;
        sqlite3_bind_int64(database->update, 1, uid);
        sqlite3_bind_text(database->update, 2, name, name_length, SQLITE_TRANSIENT);
        sqlite3_bind_int64(database->update, 3, index);
        sqlite3_bind_text(database->outbox, 1, payload, payload_length, SQLITE_TRANSIENT);
        if (step(database->update) || step(database->outbox) || step(database->commit)) return -1;
    }
    return 0;
}

int64_t raw_point_reads(raw_database *database, int64_t count, int64_t total, uint64_t seed) {
    int64_t length = 0;
    for (int64_t index = 0; index < count; index++) {
        sqlite3_bind_int64(database->select, 1, (int64_t)(mix(seed + (uint64_t)index) % (uint64_t)total));
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

int raw_apply_delta(raw_database *database, int64_t count, int64_t stride, int64_t version) {
    if (step(database->begin)) return -1;
    for (int64_t index = 0; index < count; index++) {
        bind_user(database->upsert, index * stride, version);
        if (step(database->upsert)) return -1;
    }
    return step(database->commit);
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
