#include "storage.h"

#include <stdlib.h>
#include <string.h>

// SplitMix64 (Steele, Lea and Flood, 2014).
static uint64_t mix(uint64_t *state) {
    uint64_t word = (*state += 0x9E3779B97F4A7C15u);
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

uint64_t storage_random(fault_disk *disk) {
    return mix(&disk->random);
}

uint64_t storage_below(uint64_t *state, uint64_t bound) {
    return bound == 0 ? 0 : (uint64_t)(((unsigned __int128)mix(state) * bound) >> 64);
}

// MARK: Directories

static size_t position(directory *directory, const char *name) {
    size_t index = 0;
    while (index < directory->count && strcmp(directory->entries[index].name, name) < 0) index += 1;
    return index;
}

inode *storage_find(directory *directory, const char *name) {
    size_t index = position(directory, name);
    if (index == directory->count || strcmp(directory->entries[index].name, name) != 0) return NULL;
    return directory->entries[index].inode;
}

inode *storage_make(fault_disk *disk, const char *name, uint32_t class) {
    (void)disk;
    inode *made = calloc(1, sizeof(inode));
    if (made == NULL) return NULL;
    made->class = class;
    made->name = strdup(name);
    return made;
}

void storage_retain(inode *inode) {
    inode->references += 1;
}

static void drop_pending(fault_disk *disk, inode *inode) {
    while (inode->first != NULL) {
        pending *gone = inode->first;
        inode->first = gone->next;
        if (!gone->is_truncation) disk->unsynced -= (uint64_t)gone->size;
        free(gone);
    }
    inode->last = NULL;
}

void storage_drop(fault_disk *disk, inode *inode) {
    inode->references -= 1;
    if (inode->references > 0) return;
    drop_pending(disk, inode);
    disk->used -= inode->live.size;
    free(inode->live.bytes);
    free(inode->durable.bytes);
    free(inode->name);
    free(inode);
}

void storage_link(fault_disk *disk, directory *directory, const char *name, inode *inode) {
    storage_retain(inode);
    size_t index = position(directory, name);
    if (index < directory->count && strcmp(directory->entries[index].name, name) == 0) {
        storage_drop(disk, directory->entries[index].inode);
        directory->entries[index].inode = inode;
        return;
    }
    if (directory->count == directory->capacity) {
        size_t capacity = directory->capacity == 0 ? 8 : directory->capacity * 2;
        entry *entries = realloc(directory->entries, capacity * sizeof(entry));
        if (entries == NULL) abort();
        directory->entries = entries;
        directory->capacity = capacity;
    }
    memmove(&directory->entries[index + 1], &directory->entries[index], (directory->count - index) * sizeof(entry));
    directory->entries[index] = (entry){ strdup(name), inode };
    directory->count += 1;
}

bool storage_unlink(fault_disk *disk, directory *directory, const char *name) {
    size_t index = position(directory, name);
    if (index == directory->count || strcmp(directory->entries[index].name, name) != 0) return false;
    inode *gone = directory->entries[index].inode;
    free(directory->entries[index].name);
    directory->count -= 1;
    memmove(&directory->entries[index], &directory->entries[index + 1], (directory->count - index) * sizeof(entry));
    storage_drop(disk, gone);
    return true;
}

static void copy_directory(fault_disk *disk, directory *to, directory *from) {
    for (size_t index = 0; index < from->count; index += 1) storage_retain(from->entries[index].inode);
    while (to->count > 0) storage_unlink(disk, to, to->entries[to->count - 1].name);
    for (size_t index = 0; index < from->count; index += 1) {
        storage_link(disk, to, from->entries[index].name, from->entries[index].inode);
        storage_drop(disk, from->entries[index].inode);
    }
}

void storage_sync_directory(fault_disk *disk) {
    copy_directory(disk, &disk->durable, &disk->live);
}

// MARK: Contents

static bool reserve(image *image, int64_t size) {
    if (size <= image->capacity) return true;
    int64_t capacity = image->capacity < 4096 ? 4096 : image->capacity * 2;
    while (capacity < size) capacity *= 2;
    uint8_t *bytes = realloc(image->bytes, (size_t)capacity);
    if (bytes == NULL) return false;
    memset(bytes + image->capacity, 0, (size_t)(capacity - image->capacity));
    image->bytes = bytes;
    image->capacity = capacity;
    return true;
}

static bool put(image *image, const void *bytes, int64_t size, int64_t offset) {
    if (!reserve(image, offset + size)) return false;
    memcpy(image->bytes + offset, bytes, (size_t)size);
    if (offset + size > image->size) image->size = offset + size;
    return true;
}

static void cut(image *image, int64_t size) {
    if (size >= image->size) return;
    memset(image->bytes + size, 0, (size_t)(image->size - size));
    image->size = size;
}

static void append(inode *inode, pending *made) {
    made->next = NULL;
    if (inode->last == NULL) inode->first = made; else inode->last->next = made;
    inode->last = made;
}

int storage_write(fault_disk *disk, inode *inode, const void *bytes, int64_t size, int64_t offset) {
    int64_t grown = offset + size > inode->live.size ? offset + size - inode->live.size : 0;
    if (disk->capacity >= 0 && grown > 0 && disk->used + grown > disk->capacity) return SQLITE_FULL;
    pending *made = malloc(sizeof(pending) + (size_t)size);
    if (made == NULL) return SQLITE_IOERR_NOMEM;
    if (!put(&inode->live, bytes, size, offset)) {
        free(made);
        return SQLITE_IOERR_NOMEM;
    }
    made->is_truncation = false;
    made->offset = offset;
    made->size = size;
    memcpy(made->bytes, bytes, (size_t)size);
    append(inode, made);
    disk->used += grown;
    disk->unsynced += (uint64_t)size;
    return SQLITE_OK;
}

void storage_truncate(fault_disk *disk, inode *inode, int64_t size) {
    if (size >= inode->live.size) return;
    pending *made = malloc(sizeof(pending));
    if (made == NULL) abort();
    made->is_truncation = true;
    made->offset = size;
    made->size = 0;
    append(inode, made);
    disk->used -= inode->live.size - size;
    cut(&inode->live, size);
}

void storage_sync(fault_disk *disk, inode *inode) {
    for (pending *next = inode->first; next != NULL; next = next->next) {
        if (next->is_truncation) {
            cut(&inode->durable, next->offset);
        } else if (!put(&inode->durable, next->bytes, next->size, next->offset)) {
            abort();
        }
    }
    drop_pending(disk, inode);
}

/// Makes the medium hold the contents that processes see.
void storage_settle(fault_disk *disk, inode *inode) {
    drop_pending(disk, inode);
    cut(&inode->durable, 0);
    if (inode->live.size > 0 && !put(&inode->durable, inode->live.bytes, inode->live.size, 0)) abort();
}

// MARK: Loss of what was written

enum { LOSE_ALL, KEEP_ALL, KEEP_SOME };

/// Applies a part of the pending writes to the medium and discards the rest.
///
/// For each piece of a file, the medium keeps the writes up to some moment. That moment differs from piece to piece,
/// which produces torn writes.
static void keep_some(fault_disk *disk, inode *inode, uint64_t *random, int mode) {
    int64_t end = inode->durable.size;
    for (pending *next = inode->first; next != NULL; next = next->next) {
        if (!next->is_truncation && next->offset + next->size > end) end = next->offset + next->size;
    }
    size_t pieces = (size_t)(end / PIECE) + 1;
    uint32_t *written = calloc(pieces, sizeof(uint32_t));
    uint32_t *kept = calloc(pieces, sizeof(uint32_t));
    uint32_t *seen = calloc(pieces, sizeof(uint32_t));
    if (written == NULL || kept == NULL || seen == NULL) abort();
    for (pending *next = inode->first; next != NULL; next = next->next) {
        if (next->is_truncation || next->size == 0) continue;
        for (int64_t piece = next->offset / PIECE; piece <= (next->offset + next->size - 1) / PIECE; piece += 1) {
            written[piece] += 1;
        }
    }
    for (size_t piece = 0; piece < pieces; piece += 1) {
        if (written[piece] == 0) continue;
        switch (mode == KEEP_SOME ? storage_below(random, 4) : 0) {
        case 0: kept[piece] = mode == KEEP_ALL ? written[piece] : 0; break;
        case 1: kept[piece] = written[piece]; break;
        default: kept[piece] = (uint32_t)storage_below(random, written[piece] + 1); break;
        }
    }
    for (pending *next = inode->first; next != NULL; next = next->next) {
        if (next->is_truncation) {
            if (mode == KEEP_ALL || (mode == KEEP_SOME && storage_below(random, 2) == 0)) {
                cut(&inode->durable, next->offset);
            }
            continue;
        }
        int64_t offset = next->offset;
        const int64_t limit = next->offset + next->size;
        while (offset < limit) {
            int64_t piece = offset / PIECE;
            int64_t stop = (piece + 1) * PIECE < limit ? (piece + 1) * PIECE : limit;
            const uint8_t *bytes = next->bytes + (offset - next->offset);
            if (seen[piece] < kept[piece]) {
                if (!put(&inode->durable, bytes, stop - offset, offset)) abort();
            } else if (seen[piece] == kept[piece] && mode == KEEP_SOME && disk->garbage > 0
                && (double)(mix(random) >> 11) * 0x1p-53 < disk->garbage)
            {
                uint8_t noise[PIECE];
                for (int64_t index = 0; index < stop - offset; index += 1) noise[index] = (uint8_t)mix(random);
                if (!put(&inode->durable, noise, stop - offset, offset)) abort();
            }
            seen[piece] += 1;
            offset = stop;
        }
    }
    free(written);
    free(kept);
    free(seen);
    drop_pending(disk, inode);
}

static void crash_inode(fault_disk *disk, inode *inode, uint64_t *random, int mode) {
    keep_some(disk, inode, random, mode);
    disk->used -= inode->live.size;
    cut(&inode->live, 0);
    if (inode->durable.size > 0 && !put(&inode->live, inode->durable.bytes, inode->durable.size, 0)) abort();
    disk->used += inode->live.size;
}

void storage_fail_sync(fault_disk *disk, inode *inode) {
    if (storage_below(&disk->sync_random, 2) == 0) return;
    for (fault_file *file = inode->files; file != NULL; file = file->next) file->owes_failure = true;
    keep_some(disk, inode, &disk->sync_random, storage_below(&disk->sync_random, 2) == 0 ? LOSE_ALL : KEEP_SOME);
}

void storage_lose_power(fault_disk *disk, uint64_t seed) {
    uint64_t random = seed;
    for (fault_mount *mount = disk->mounts; mount != NULL; mount = mount->next) storage_kill(mount);
    const uint64_t draw = storage_below(&random, 8);
    const int mode = draw == 0 ? LOSE_ALL : draw == 1 ? KEEP_ALL : KEEP_SOME;

    // A directory entry with an unsynced change is either in its old or in its new state.
    directory after = {0};
    size_t live = 0, durable = 0;
    while (live < disk->live.count || durable < disk->durable.count) {
        entry *new = live < disk->live.count ? &disk->live.entries[live] : NULL;
        entry *old = durable < disk->durable.count ? &disk->durable.entries[durable] : NULL;
        int order = new == NULL ? 1 : old == NULL ? -1 : strcmp(new->name, old->name);
        if (order < 0) old = NULL; else if (order > 0) new = NULL;
        const char *name = new != NULL ? new->name : old->name;
        entry *chosen = new;
        if (new == NULL || old == NULL || new->inode != old->inode) {
            const bool keeps = mode == KEEP_ALL || (mode == KEEP_SOME && storage_below(&random, 2) == 0);
            chosen = keeps ? new : old;
        }
        if (chosen != NULL) storage_link(disk, &after, name, chosen->inode);
        if (new != NULL) live += 1;
        if (old != NULL) durable += 1;
    }
    for (size_t index = 0; index < after.count; index += 1) {
        crash_inode(disk, after.entries[index].inode, &random, mode);
    }
    copy_directory(disk, &disk->live, &after);
    copy_directory(disk, &disk->durable, &after);
    while (after.count > 0) storage_unlink(disk, &after, after.entries[after.count - 1].name);
    free(after.entries);
    disk->power_losses += 1;
}

void storage_kill(fault_mount *mount) {
    if (mount->is_dead) return;
    mount->is_dead = true;
    // The WAL index of a database exists as long as a process has the database open.
    directory *live = &mount->disk->live;
    for (size_t index = 0; index < live->count; index += 1) {
        inode *inode = live->entries[index].inode;
        if (inode->shm == NULL) continue;
        bool is_used = false;
        for (fault_file *file = inode->files; file != NULL; file = file->next) {
            if (file->shm == inode->shm && !file->mount->is_dead) is_used = true;
        }
        if (!is_used) {
            inode->shm->inode = NULL;
            inode->shm = NULL;
        }
    }
}
