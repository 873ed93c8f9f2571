#include "storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static uint64_t mounts_made;

fault_disk *fault_disk_create(uint64_t seed) {
    fault_disk *disk = calloc(1, sizeof(fault_disk));
    if (disk == NULL) abort();
    pthread_mutex_init(&disk->mutex, NULL);
    disk->references = 1;
    disk->random = seed;
    disk->sync_random = ~seed;
    disk->capacity = -1;
    disk->hash = 0xCBF29CE484222325u;
    disk->wall_time = 1767225600000;
    return disk;
}

/// Must be called with the mutex held. Unlocks it.
static void unlock_and_drop(fault_disk *disk) {
    disk->references -= 1;
    const bool is_last = disk->references == 0;
    if (is_last) {
        while (disk->live.count > 0) storage_unlink(disk, &disk->live, disk->live.entries[disk->live.count - 1].name);
        while (disk->durable.count > 0) {
            storage_unlink(disk, &disk->durable, disk->durable.entries[disk->durable.count - 1].name);
        }
        free(disk->live.entries);
        free(disk->durable.entries);
    }
    pthread_mutex_unlock(&disk->mutex);
    if (is_last) {
        pthread_mutex_destroy(&disk->mutex);
        free(disk);
    }
}

void fault_disk_release(fault_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    unlock_and_drop(disk);
}

bool fault_disk_add_rule(fault_disk *disk, fault_rule rule) {
    pthread_mutex_lock(&disk->mutex);
    // Rules that have no operations left are removed to make room.
    size_t kept = 0;
    for (size_t index = 0; index < disk->rule_count; index += 1) {
        if (disk->rules[index].times > 0) disk->rules[kept++] = disk->rules[index];
    }
    disk->rule_count = kept;
    const bool fits = disk->rule_count < MAXIMUM_RULES;
    if (fits) disk->rules[disk->rule_count++] = rule;
    pthread_mutex_unlock(&disk->mutex);
    return fits;
}

void fault_disk_clear_rules(fault_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    disk->rule_count = 0;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_set_lenient(fault_disk *disk, bool is_lenient) {
    pthread_mutex_lock(&disk->mutex);
    disk->leniency += is_lenient ? 1 : -1;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_lose_power(fault_disk *disk, uint64_t seed) {
    pthread_mutex_lock(&disk->mutex);
    storage_lose_power(disk, seed);
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_set_garbage(fault_disk *disk, double fraction) {
    pthread_mutex_lock(&disk->mutex);
    disk->garbage = fraction;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_set_capacity(fault_disk *disk, int64_t bytes) {
    pthread_mutex_lock(&disk->mutex);
    disk->capacity = bytes;
    pthread_mutex_unlock(&disk->mutex);
}

void fault_disk_set_read_only(fault_disk *disk, bool is_read_only) {
    pthread_mutex_lock(&disk->mutex);
    disk->is_read_only = is_read_only;
    pthread_mutex_unlock(&disk->mutex);
}

#define READ_UNDER_LOCK(type, expression)          \
    pthread_mutex_lock(&disk->mutex);              \
    const type value = (expression);               \
    pthread_mutex_unlock(&disk->mutex);            \
    return value

uint64_t fault_disk_operations(fault_disk *disk) {
    READ_UNDER_LOCK(uint64_t, disk->operations);
}

uint64_t fault_disk_operations_of_kind(fault_disk *disk, uint32_t kind) {
    if (kind == 0 || kind >= (1u << FAULT_KIND_COUNT)) return 0;
    READ_UNDER_LOCK(uint64_t, disk->by_kind[__builtin_ctz(kind)]);
}

uint64_t fault_disk_hits(fault_disk *disk) {
    READ_UNDER_LOCK(uint64_t, disk->hits);
}

uint64_t fault_disk_hits_of_class(fault_disk *disk, int class) {
    if (class < 0 || class >= FAULT_CLASS_COUNT) return 0;
    READ_UNDER_LOCK(uint64_t, disk->hits_by_class[class]);
}

uint64_t fault_disk_power_losses(fault_disk *disk) {
    READ_UNDER_LOCK(uint64_t, disk->power_losses);
}

uint64_t fault_disk_hash(fault_disk *disk) {
    READ_UNDER_LOCK(uint64_t, disk->hash);
}

size_t fault_disk_log(fault_disk *disk, fault_operation *operations, size_t capacity) {
    pthread_mutex_lock(&disk->mutex);
    uint64_t count = disk->operations < LOG_LENGTH ? disk->operations : LOG_LENGTH;
    if (count > capacity) count = capacity;
    size_t written = 0;
    for (uint64_t number = disk->operations - count + 1; number <= disk->operations; number += 1) {
        const fault_operation *line = &disk->log[(number + LOG_LENGTH - 1) % LOG_LENGTH];
        if (line->number == number) operations[written++] = *line;
    }
    pthread_mutex_unlock(&disk->mutex);
    return written;
}

bool fault_disk_name_at(fault_disk *disk, size_t index, char *name, size_t capacity) {
    pthread_mutex_lock(&disk->mutex);
    const bool exists = index < disk->live.count;
    if (exists) snprintf(name, capacity, "%s", disk->live.entries[index].name);
    pthread_mutex_unlock(&disk->mutex);
    return exists;
}

int64_t fault_disk_size(fault_disk *disk, const char *name) {
    pthread_mutex_lock(&disk->mutex);
    inode *found = storage_find(&disk->live, name);
    const int64_t size = found == NULL ? -1 : found->live.size;
    pthread_mutex_unlock(&disk->mutex);
    return size;
}

int64_t fault_disk_read(fault_disk *disk, const char *name, void *buffer, int64_t capacity) {
    pthread_mutex_lock(&disk->mutex);
    inode *found = storage_find(&disk->live, name);
    int64_t size = -1;
    if (found != NULL) {
        size = found->live.size < capacity ? found->live.size : capacity;
        if (size > 0) memcpy(buffer, found->live.bytes, (size_t)size);
    }
    pthread_mutex_unlock(&disk->mutex);
    return size;
}

bool fault_disk_replace(fault_disk *disk, const char *name, const void *bytes, int64_t size) {
    pthread_mutex_lock(&disk->mutex);
    inode *made = storage_make(disk, name, FAULT_FILE_OTHER);
    bool done = false;
    if (made != NULL) {
        storage_retain(made);
        done = size == 0 || storage_write(disk, made, bytes, size, 0) == SQLITE_OK;
        if (done) {
            storage_settle(disk, made);
            storage_link(disk, &disk->live, name, made);
            storage_link(disk, &disk->durable, name, made);
        }
        storage_drop(disk, made);
    }
    pthread_mutex_unlock(&disk->mutex);
    return done;
}

bool fault_disk_remove(fault_disk *disk, const char *name) {
    pthread_mutex_lock(&disk->mutex);
    const bool existed = storage_unlink(disk, &disk->live, name);
    storage_unlink(disk, &disk->durable, name);
    pthread_mutex_unlock(&disk->mutex);
    return existed;
}

bool fault_disk_flip(fault_disk *disk, const char *name, int64_t offset, uint8_t mask) {
    pthread_mutex_lock(&disk->mutex);
    inode *found = storage_find(&disk->live, name);
    const bool flips = mask != 0 && found != NULL && offset >= 0 && offset < found->live.size;
    if (flips) {
        found->live.bytes[offset] ^= mask;
        if (offset < found->durable.size) found->durable.bytes[offset] ^= mask;
    }
    pthread_mutex_unlock(&disk->mutex);
    return flips;
}

// MARK: Mounts

fault_mount *fault_mount_create(fault_disk *disk) {
    fault_mount *mount = calloc(1, sizeof(fault_mount));
    if (mount == NULL) abort();
    pthread_mutex_lock(&numbering);
    const uint64_t number = ++mounts_made;
    pthread_mutex_unlock(&numbering);
    snprintf(mount->name, sizeof mount->name, "fault-%llu", (unsigned long long)number);
    mount->references = 1;
    mount->disk = disk;
    sqlite3_vfs *vfs = vfs_prepare(mount);
    pthread_mutex_lock(&disk->mutex);
    disk->references += 1;
    mount->next = disk->mounts;
    disk->mounts = mount;
    pthread_mutex_unlock(&disk->mutex);
    sqlite3_vfs_register(vfs, 0);
    return mount;
}

const char *fault_mount_name(fault_mount *mount) {
    return mount->name;
}

void fault_mount_kill(fault_mount *mount) {
    pthread_mutex_lock(&mount->disk->mutex);
    storage_kill(mount);
    pthread_mutex_unlock(&mount->disk->mutex);
}

bool fault_mount_is_dead(fault_mount *mount) {
    fault_disk *disk = mount->disk;
    READ_UNDER_LOCK(bool, mount->is_dead);
}

size_t fault_mount_open_files(fault_mount *mount) {
    fault_disk *disk = mount->disk;
    READ_UNDER_LOCK(size_t, mount->open_files);
}

void fault_mount_release(fault_mount *mount) {
    mount_drop(mount);
}

/// Must be called without the mutex. The last reference frees the mount.
void mount_drop(fault_mount *mount) {
    fault_disk *disk = mount->disk;
    pthread_mutex_lock(&disk->mutex);
    mount->references -= 1;
    const bool is_last = mount->references == 0;
    if (is_last) {
        fault_mount **link = &disk->mounts;
        while (*link != mount) link = &(*link)->next;
        *link = mount->next;
    }
    if (!is_last) {
        pthread_mutex_unlock(&disk->mutex);
        return;
    }
    unlock_and_drop(disk);
    sqlite3_vfs_unregister(&mount->vfs);
    free(mount);
}

bool fault_vfs_stop_counting_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}
