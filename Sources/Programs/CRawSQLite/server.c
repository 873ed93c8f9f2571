// The work of a server, without a protocol: a delta, a merge, and group commit.
#include "database.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int raw_change(raw_database *database, int64_t count, int64_t stride, int64_t version) {
    if (raw_step(database->begin)) return -1;
    for (int64_t index = 0; index < count; index++) {
        char name[48];
        int length = snprintf(name, sizeof name, "Renamed %lld %lld", (long long)version, (long long)index);
        sqlite3_bind_int64(database->change, 1, index * stride);
        sqlite3_bind_text(database->change, 2, name, length, SQLITE_TRANSIENT);
        sqlite3_bind_int64(database->change, 3, version);
        sqlite3_bind_int64(database->log, 1, index * stride);
        if (raw_step(database->change) || raw_step(database->log)) return -1;
    }
    return raw_step(database->commit);
}

int64_t raw_last_change(raw_database *database) {
    sqlite3_stmt *last = NULL;
    int64_t sequence = -1;
    if (sqlite3_prepare_v2(database->handle, "SELECT ifnull(max(sequence), 0) FROM log", -1, &last, NULL) == SQLITE_OK &&
        sqlite3_step(last) == SQLITE_ROW)
        sequence = sqlite3_column_int64(last, 0);
    sqlite3_finalize(last);
    return sequence;
}

// Appends to a buffer that is known to be large enough. No text of the benchmarks needs escaping.
static char *append(char *to, const void *bytes, int count) {
    memcpy(to, bytes, (size_t)count);
    return to + count;
}

static char *append_integer(char *to, int64_t value) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count) *to++ = digits[--count];
    return to;
}

// Reads one user, and writes it as a JSON object. Returns the length; 0 if there is no such user.
static int64_t encode_user(raw_database *database, int64_t uid, char *buffer) {
    static const char *names[] = {"{\"uid\":",  ",\"username\":\"",   "\",\"display_name\":\"",
                                  "\",\"bio\":\"", "\",\"avatar_uid\":", ",\"updated_at\":"};
    char *end = buffer;
    sqlite3_bind_int64(database->select, 1, uid);
    if (sqlite3_step(database->select) == SQLITE_ROW) {
        for (int column = 0; column < 6; column++) {
            end = append(end, names[column], (int)strlen(names[column]));
            if (column == 0 || column > 3) {
                end = append_integer(end, sqlite3_column_int64(database->select, column));
            } else {
                const void *text = sqlite3_column_text(database->select, column);
                int bytes = sqlite3_column_bytes(database->select, column);
                end = append(end, text, bytes < 256 ? bytes : 256);
            }
        }
        *end++ = '}';
    }
    sqlite3_reset(database->select);
    return end - buffer;
}

int64_t raw_produce_delta(raw_database *database, int64_t after) {
    size_t capacity = 1 << 20, used = 0;
    char *buffer = malloc(capacity);
    if (!buffer || raw_step(database->begin)) return -1;
    sqlite3_bind_int64(database->changes, 1, after);
    while (sqlite3_step(database->changes) == SQLITE_ROW) {
        if (capacity - used < 4096) {
            capacity *= 2;
            char *larger = realloc(buffer, capacity);
            if (!larger) break;
            buffer = larger;
        }
        used += (size_t)encode_user(database, sqlite3_column_int64(database->changes, 0), buffer + used);
        buffer[used++] = ',';
    }
    int failed = sqlite3_reset(database->changes) != SQLITE_OK || raw_step(database->commit);
    free(buffer);
    return failed ? -1 : (int64_t)used;
}

int64_t raw_encode_users(raw_database *database, int64_t pages, int64_t rows) {
    char *buffer = malloc((size_t)rows * 2048);
    if (!buffer) return -1;
    int64_t bytes = 0;
    for (int64_t page = 0; page < pages; page++) {
        char *end = buffer;
        if (raw_step(database->begin)) return -1;
        for (int64_t uid = 0; uid < rows; uid++) end += encode_user(database, uid, end);
        if (raw_step(database->commit)) return -1;
        bytes += end - buffer;
    }
    free(buffer);
    return bytes;
}

int raw_apply_delta(raw_database *database, int64_t count, int64_t stride, int64_t version) {
    if (raw_step(database->begin)) return -1;
    for (int64_t index = 0; index < count; index++) {
        raw_bind_user(database->upsert, index * stride, version);
        if (raw_step(database->upsert)) return -1;
    }
    return raw_step(database->commit);
}

int raw_merge(raw_database *database, int64_t replicas, int64_t edits, int64_t rows, int64_t batch, int64_t first) {
    for (int64_t index = 0; index < replicas * edits; index++) {
        uint64_t random = raw_mix((uint64_t)(first + index));
        int64_t uid = (int64_t)(random % (uint64_t)rows), time = first + (int64_t)((random >> 32) % 1000000);
        char value[64];
        int length = snprintf(value, sizeof value, "edit %016llx of a value", (unsigned long long)random);
        if (index % batch == 0 && raw_step(database->begin)) return -1;
        sqlite3_bind_int64(database->clock, 1, uid);
        sqlite3_bind_int64(database->clock, 2, 0);
        sqlite3_bind_int64(database->clock, 3, time);
        sqlite3_bind_int64(database->clock, 4, index / edits);
        if (raw_step(database->clock)) return -1;
        sqlite3_stmt *effect = sqlite3_changes(database->handle) ? database->merge : database->conflict;
        sqlite3_bind_int64(effect, 1, uid);
        if (effect == database->conflict) {
            sqlite3_bind_int64(effect, 2, 0);
            sqlite3_bind_int64(effect, 3, time);
            sqlite3_bind_int64(effect, 4, index / edits);
        }
        sqlite3_bind_text(effect, effect == database->conflict ? 5 : 2, value, length, SQLITE_TRANSIENT);
        if (raw_step(effect)) return -1;
        if ((index % batch == batch - 1 || index == replicas * edits - 1) && raw_step(database->commit)) return -1;
    }
    return 0;
}

// Writers that wait for a group commit. `uids` are those of the waiting writers; `committed` counts the groups.
struct group {
    pthread_mutex_t lock;
    pthread_cond_t arrived, done;
    int64_t uids[64], waiting, running, taken, committed, each, total, next;
};

static void *write_singly(void *argument) {
    struct group *group = argument;
    pthread_mutex_lock(&group->lock);
    for (int64_t index = 0; index < group->each; index++) {
        group->uids[group->waiting++] = (int64_t)(raw_mix((uint64_t)group->next++) % (uint64_t)group->total);
        int64_t mine = group->taken + 1;
        pthread_cond_signal(&group->arrived);
        while (group->committed < mine) pthread_cond_wait(&group->done, &group->lock);
    }
    group->running--;
    pthread_cond_signal(&group->arrived);
    pthread_mutex_unlock(&group->lock);
    return NULL;
}

static int commit_group(raw_database *database, const int64_t *uids, int64_t count, int64_t version) {
    if (raw_step(database->begin)) return -1;
    for (int64_t index = 0; index < count; index++) {
        char name[48];
        int length = snprintf(name, sizeof name, "Renamed %lld", (long long)version);
        sqlite3_bind_int64(database->change, 1, uids[index]);
        sqlite3_bind_text(database->change, 2, name, length, SQLITE_TRANSIENT);
        sqlite3_bind_int64(database->change, 3, version);
        sqlite3_bind_int64(database->log, 1, uids[index]);
        if (raw_step(database->change) || raw_step(database->log)) return -1;
    }
    return raw_step(database->commit);
}

int raw_group_commit(raw_database *database, int64_t writers, int64_t each, int64_t total, uint64_t seed) {
    struct group group = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .arrived = PTHREAD_COND_INITIALIZER,
                          .done = PTHREAD_COND_INITIALIZER,
                          .each = each,
                          .total = total,
                          .next = (int64_t)seed};
    pthread_t threads[64];
    if (writers > 64) return -1;
    for (int64_t writer = 0; writer < writers; writer++) {
        group.running++;
        if (pthread_create(&threads[writer], NULL, write_singly, &group)) return -1;
    }
    int failed = 0;
    pthread_mutex_lock(&group.lock);
    while (1) {
        while (!group.waiting && group.running) pthread_cond_wait(&group.arrived, &group.lock);
        if (!group.waiting) break;
        int64_t uids[64], count = group.waiting;
        memcpy(uids, group.uids, sizeof uids);
        group.waiting = 0;
        group.taken++;
        int64_t version = group.taken;
        pthread_mutex_unlock(&group.lock);
        failed |= commit_group(database, uids, count, version);
        pthread_mutex_lock(&group.lock);
        group.committed = version;
        pthread_cond_broadcast(&group.done);
    }
    pthread_mutex_unlock(&group.lock);
    for (int64_t writer = 0; writer < writers; writer++) pthread_join(threads[writer], NULL);
    return failed;
}
