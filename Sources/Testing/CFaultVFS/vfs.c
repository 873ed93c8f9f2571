#include "storage.h"

#include <stdlib.h>
#include <string.h>

static fault_file *file_of(sqlite3_file *base) {
    return (fault_file *)base;
}

static void lock(fault_file *file) {
    pthread_mutex_lock(&file->mount->disk->mutex);
}

static void unlock(fault_file *file) {
    pthread_mutex_unlock(&file->mount->disk->mutex);
}

/// Returns whether the disk is read-only at the moment. Leniency allows writes.
static bool is_protected(const fault_disk *disk) {
    return disk->is_read_only && disk->leniency == 0;
}

static int conclude(fault_file *file, uint32_t kind, int64_t offset, int64_t size, int result) {
    storage_log(file->mount, kind, file->inode->class, file->inode->name, offset, size, result);
    unlock(file);
    return result;
}

// MARK: Reading and writing

static int read_file(sqlite3_file *base, void *buffer, int size, sqlite3_int64 offset) {
    fault_file *file = file_of(base);
    lock(file);
    verdict verdict = storage_judge(file->mount, FAULT_READ, file->inode->class);
    if (verdict.effect >= 0) {
        return conclude(file, FAULT_READ, offset, size, storage_carry_out(file->mount, verdict, FAULT_READ));
    }
    const image *live = &file->inode->live;
    int64_t available = offset < live->size ? live->size - offset : 0;
    if (available > size) available = size;
    if (available > 0) memcpy(buffer, live->bytes + offset, (size_t)available);
    if (available < size) memset((char *)buffer + available, 0, (size_t)(size - available));
    return conclude(
        file, FAULT_READ, offset, size, available < size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK);
}

static int write_file(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset) {
    fault_file *file = file_of(base);
    lock(file);
    fault_disk *disk = file->mount->disk;
    verdict verdict = storage_judge(file->mount, FAULT_WRITE, file->inode->class);
    if (verdict.effect >= 0) {
        // A failed or interrupted write may have been done in part.
        if (!file->mount->is_dead && verdict.code != SQLITE_BUSY) {
            const int64_t part = (int64_t)storage_below(&disk->random, (uint64_t)size / PIECE + 2) * PIECE;
            const int64_t done = part < size ? part : size;
            if (done > 0) storage_write(disk, file->inode, bytes, done, offset);
        }
        return conclude(file, FAULT_WRITE, offset, size, storage_carry_out(file->mount, verdict, FAULT_WRITE));
    }
    int result = is_protected(disk) ? SQLITE_IOERR_WRITE : storage_write(disk, file->inode, bytes, size, offset);
    return conclude(file, FAULT_WRITE, offset, size, result);
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size) {
    fault_file *file = file_of(base);
    lock(file);
    fault_disk *disk = file->mount->disk;
    verdict verdict = storage_judge(file->mount, FAULT_TRUNCATE, file->inode->class);
    if (verdict.effect >= 0) {
        if (!file->mount->is_dead && verdict.effect != FAULT_EFFECT_FAIL && storage_below(&disk->random, 2) == 0) {
            storage_truncate(disk, file->inode, size);
        }
        return conclude(
            file, FAULT_TRUNCATE, size, 0, storage_carry_out(file->mount, verdict, FAULT_TRUNCATE));
    }
    if (is_protected(disk)) return conclude(file, FAULT_TRUNCATE, size, 0, SQLITE_IOERR_TRUNCATE);
    storage_truncate(disk, file->inode, size);
    return conclude(file, FAULT_TRUNCATE, size, 0, SQLITE_OK);
}

static int sync_file(sqlite3_file *base, int flags) {
    fault_file *file = file_of(base);
    lock(file);
    fault_disk *disk = file->mount->disk;
    verdict verdict = storage_judge(file->mount, FAULT_SYNC, file->inode->class);
    if (verdict.effect >= 0) {
        if (!file->mount->is_dead && verdict.effect == FAULT_EFFECT_FAIL) storage_fail_sync(disk, file->inode);
        file->owes_failure = false;
        return conclude(file, FAULT_SYNC, 0, flags, storage_carry_out(file->mount, verdict, FAULT_SYNC));
    }
    if (file->owes_failure && disk->leniency == 0) {
        file->owes_failure = false;
        return conclude(file, FAULT_SYNC, 0, flags, SQLITE_IOERR_FSYNC);
    }
    storage_sync(disk, file->inode);
    if (file->syncs_directory) {
        storage_sync_directory(disk);
        file->syncs_directory = false;
    }
    return conclude(file, FAULT_SYNC, 0, flags, SQLITE_OK);
}

static int size_of_file(sqlite3_file *base, sqlite3_int64 *size) {
    fault_file *file = file_of(base);
    lock(file);
    *size = file->inode->live.size;
    int result = file->mount->is_dead ? SQLITE_IOERR_FSTAT : SQLITE_OK;
    unlock(file);
    return result;
}

// MARK: Locks

/// Returns the highest lock level of the other open files of the same inode.
static int highest_of_others(fault_file *file) {
    int highest = SQLITE_LOCK_NONE;
    for (fault_file *other = file->inode->files; other != NULL; other = other->next) {
        if (other != file && !other->mount->is_dead && other->level > highest) highest = other->level;
    }
    return highest;
}

static int lock_file(sqlite3_file *base, int level) {
    fault_file *file = file_of(base);
    lock(file);
    verdict verdict = storage_judge(file->mount, FAULT_LOCK, file->inode->class);
    if (verdict.effect >= 0) {
        return conclude(file, FAULT_LOCK, level, 0, storage_carry_out(file->mount, verdict, FAULT_LOCK));
    }
    int result = SQLITE_OK;
    if (file->level < level) {
        const int others = highest_of_others(file);
        switch (level) {
        case SQLITE_LOCK_SHARED:
            if (others >= SQLITE_LOCK_PENDING) result = SQLITE_BUSY;
            break;
        case SQLITE_LOCK_RESERVED:
            if (others >= SQLITE_LOCK_RESERVED) result = SQLITE_BUSY;
            break;
        default:
            if (others >= SQLITE_LOCK_RESERVED) {
                result = SQLITE_BUSY;
            } else if (others >= SQLITE_LOCK_SHARED) {
                // Active readers may finish, and no new ones may start.
                file->level = SQLITE_LOCK_PENDING;
                result = SQLITE_BUSY;
            }
        }
        if (result == SQLITE_OK) file->level = level;
    }
    return conclude(file, FAULT_LOCK, level, 0, result);
}

static int unlock_file(sqlite3_file *base, int level) {
    fault_file *file = file_of(base);
    lock(file);
    if (file->level > level) file->level = level;
    unlock(file);
    return SQLITE_OK;
}

static int check_reserved_lock(sqlite3_file *base, int *is_reserved) {
    fault_file *file = file_of(base);
    lock(file);
    *is_reserved = file->level >= SQLITE_LOCK_RESERVED || highest_of_others(file) >= SQLITE_LOCK_RESERVED;
    int result = file->mount->is_dead ? SQLITE_IOERR_CHECKRESERVEDLOCK : SQLITE_OK;
    unlock(file);
    return result;
}

// MARK: Shared memory of the WAL

/// Must be called with the mutex held.
void shm_release(shm *shm) {
    shm->references -= 1;
    if (shm->references > 0) return;
    if (shm->inode != NULL) shm->inode->shm = NULL;
    for (int index = 0; index < shm->region_count; index += 1) free(shm->regions[index]);
    free(shm->regions);
    free(shm);
}

static int map_shm(sqlite3_file *base, int region, int size, int extend, void volatile **memory) {
    fault_file *file = file_of(base);
    *memory = NULL;
    lock(file);
    verdict verdict = storage_judge(file->mount, FAULT_SHM_MAP, file->inode->class);
    if (verdict.effect >= 0) {
        return conclude(
            file, FAULT_SHM_MAP, region, size, storage_carry_out(file->mount, verdict, FAULT_SHM_MAP));
    }
    if (file->shm == NULL) {
        if (file->inode->shm == NULL) {
            shm *made = calloc(1, sizeof(shm));
            if (made == NULL) return conclude(file, FAULT_SHM_MAP, region, size, SQLITE_IOERR_NOMEM);
            made->inode = file->inode;
            made->region_size = size;
            file->inode->shm = made;
        }
        file->shm = file->inode->shm;
        file->shm->references += 1;
    }
    shm *shm = file->shm;
    if (region >= shm->region_count && extend != 0) {
        void **regions = realloc(shm->regions, (size_t)(region + 1) * sizeof(void *));
        if (regions == NULL) return conclude(file, FAULT_SHM_MAP, region, size, SQLITE_IOERR_NOMEM);
        shm->regions = regions;
        while (shm->region_count <= region) {
            void *made = calloc(1, (size_t)size);
            if (made == NULL) return conclude(file, FAULT_SHM_MAP, region, size, SQLITE_IOERR_NOMEM);
            shm->regions[shm->region_count++] = made;
        }
    }
    if (region < shm->region_count) *memory = shm->regions[region];
    return conclude(file, FAULT_SHM_MAP, region, size, SQLITE_OK);
}

static int lock_shm(sqlite3_file *base, int first, int count, int flags) {
    fault_file *file = file_of(base);
    const uint16_t mask = (uint16_t)((1u << (first + count)) - (1u << first));
    lock(file);
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
        file->shm_shared &= (uint16_t)~mask;
        file->shm_exclusive &= (uint16_t)~mask;
        unlock(file);
        return SQLITE_OK;
    }
    verdict verdict = storage_judge(file->mount, FAULT_SHM_LOCK, file->inode->class);
    if (verdict.effect >= 0) {
        return conclude(
            file, FAULT_SHM_LOCK, mask, flags, storage_carry_out(file->mount, verdict, FAULT_SHM_LOCK));
    }
    uint16_t taken = 0;
    for (fault_file *other = file->inode->files; other != NULL; other = other->next) {
        if (other == file || other->mount->is_dead || other->shm != file->shm) continue;
        taken |= other->shm_exclusive;
        if ((flags & SQLITE_SHM_EXCLUSIVE) != 0) taken |= other->shm_shared;
    }
    if ((taken & mask) != 0) return conclude(file, FAULT_SHM_LOCK, mask, flags, SQLITE_BUSY);
    if ((flags & SQLITE_SHM_EXCLUSIVE) != 0) file->shm_exclusive |= mask; else file->shm_shared |= mask;
    return conclude(file, FAULT_SHM_LOCK, mask, flags, SQLITE_OK);
}

static void shm_barrier(sqlite3_file *base) {
    fault_file *file = file_of(base);
    __sync_synchronize();
    lock(file);
    unlock(file);
}

/// Must be called with the mutex held.
static void leave_shm(fault_file *file) {
    if (file->shm == NULL) return;
    shm_release(file->shm);
    file->shm = NULL;
    file->shm_shared = 0;
    file->shm_exclusive = 0;
}

static int unmap_shm(sqlite3_file *base, int deletes) {
    (void)deletes;
    fault_file *file = file_of(base);
    lock(file);
    leave_shm(file);
    unlock(file);
    return SQLITE_OK;
}

// MARK: The rest of a file

static int control_file(sqlite3_file *base, int operation, void *argument) {
    fault_file *file = file_of(base);
    switch (operation) {
    case SQLITE_FCNTL_LOCKSTATE:
        *(int *)argument = file->level;
        return SQLITE_OK;
    case SQLITE_FCNTL_VFSNAME:
        *(char **)argument = sqlite3_mprintf("%s", file->mount->name);
        return SQLITE_OK;
    case SQLITE_FCNTL_POWERSAFE_OVERWRITE:
        *(int *)argument = 1;
        return SQLITE_OK;
    case SQLITE_FCNTL_SIZE_HINT:
        return SQLITE_OK;
    default:
        return SQLITE_NOTFOUND;
    }
}

// The same value as in SQLite's own Unix VFS.
static int sector_size(sqlite3_file *base) {
    (void)base;
    return 4096;
}

static int characteristics(sqlite3_file *base) {
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int close_file(sqlite3_file *base) {
    fault_file *file = file_of(base);
    fault_mount *mount = file->mount;
    lock(file);
    fault_disk *disk = mount->disk;
    leave_shm(file);
    fault_file **link = &file->inode->files;
    while (*link != file) link = &(*link)->next;
    *link = file->next;
    if (file->deletes_on_close && !mount->is_dead && storage_find(&disk->live, file->inode->name) == file->inode) {
        storage_unlink(disk, &disk->live, file->inode->name);
    }
    storage_drop(disk, file->inode);
    mount->open_files -= 1;
    pthread_mutex_unlock(&disk->mutex);
    mount_drop(mount);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shm,
    .xShmLock = lock_shm,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = unmap_shm,
};

// MARK: The disk, as a process sees it

static fault_mount *mount_of(sqlite3_vfs *vfs) {
    return vfs->pAppData;
}

static uint32_t class_of(int flags) {
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return FAULT_FILE_DATABASE;
    if ((flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0) return FAULT_FILE_JOURNAL;
    if ((flags & SQLITE_OPEN_WAL) != 0) return FAULT_FILE_WAL;
    return FAULT_FILE_OTHER;
}

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags, int *out_flags) {
    fault_mount *mount = mount_of(vfs);
    fault_disk *disk = mount->disk;
    fault_file *file = file_of(base);
    memset(file, 0, sizeof *file);
    const uint32_t class = class_of(flags);
    const char *shown = name == NULL ? "temporary" : name;
    pthread_mutex_lock(&disk->mutex);
    verdict verdict = storage_judge(mount, FAULT_OPEN, class);
    int result = SQLITE_OK;
    inode *inode = NULL;
    if (verdict.effect >= 0) {
        result = storage_carry_out(mount, verdict, FAULT_OPEN);
    } else {
        inode = name == NULL ? NULL : storage_find(&disk->live, name);
        if (inode != NULL && (flags & SQLITE_OPEN_EXCLUSIVE) != 0 && (flags & SQLITE_OPEN_CREATE) != 0) {
            result = SQLITE_CANTOPEN;
        } else if (inode == NULL) {
            const bool may_create = (flags & SQLITE_OPEN_CREATE) != 0 && (!is_protected(disk) || name == NULL);
            if (name != NULL && !may_create) {
                result = SQLITE_CANTOPEN;
            } else {
                inode = storage_make(disk, shown, class);
                if (inode == NULL) result = SQLITE_NOMEM;
                else if (name != NULL) storage_link(disk, &disk->live, name, inode);
            }
        }
    }
    if (result == SQLITE_OK) {
        storage_retain(inode);
        inode->class = class;
        file->mount = mount;
        file->inode = inode;
        file->flags = flags;
        file->deletes_on_close = name != NULL && (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
        // The directory is synced with the first sync after each opening, as in SQLite's own Unix VFS: the process that
        // created the file may have been killed before it could do that.
        file->syncs_directory =
            (flags & SQLITE_OPEN_CREATE) != 0 && (class == FAULT_FILE_JOURNAL || class == FAULT_FILE_WAL);
        file->next = inode->files;
        inode->files = file;
        mount->references += 1;
        mount->open_files += 1;
        if (out_flags != NULL) {
            *out_flags = flags;
            if (is_protected(disk) && (flags & SQLITE_OPEN_READWRITE) != 0) {
                *out_flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
            }
        }
        file->base.pMethods = &methods;
    }
    storage_log(mount, FAULT_OPEN, class, shown, 0, 0, result);
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int syncs_directory) {
    fault_mount *mount = mount_of(vfs);
    fault_disk *disk = mount->disk;
    pthread_mutex_lock(&disk->mutex);
    inode *found = storage_find(&disk->live, name);
    const uint32_t class = found == NULL ? FAULT_FILE_OTHER : found->class;
    verdict verdict = storage_judge(mount, FAULT_DELETE, class);
    int result;
    if (verdict.effect >= 0) {
        if (!mount->is_dead && verdict.effect != FAULT_EFFECT_FAIL && storage_below(&disk->random, 2) == 0) {
            storage_unlink(disk, &disk->live, name);
        }
        result = storage_carry_out(mount, verdict, FAULT_DELETE);
    } else if (is_protected(disk)) {
        result = SQLITE_IOERR_DELETE;
    } else {
        result = storage_unlink(disk, &disk->live, name) ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
        if (result == SQLITE_OK && syncs_directory != 0) storage_sync_directory(disk);
    }
    storage_log(mount, FAULT_DELETE, class, name, syncs_directory, 0, result);
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *answer) {
    fault_mount *mount = mount_of(vfs);
    fault_disk *disk = mount->disk;
    *answer = 0;
    pthread_mutex_lock(&disk->mutex);
    inode *found = storage_find(&disk->live, name);
    const uint32_t class = found == NULL ? FAULT_FILE_OTHER : found->class;
    verdict verdict = storage_judge(mount, FAULT_ACCESS, class);
    int result = SQLITE_OK;
    if (verdict.effect >= 0) {
        result = storage_carry_out(mount, verdict, FAULT_ACCESS);
    } else {
        // As in SQLite's own Unix VFS, an empty file does not exist, so that an empty journal is not hot.
        if (flags == SQLITE_ACCESS_EXISTS) *answer = found != NULL && found->live.size > 0;
        else *answer = found != NULL && !(flags == SQLITE_ACCESS_READWRITE && is_protected(disk));
    }
    storage_log(mount, FAULT_ACCESS, class, name, flags, 0, result);
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int capacity, char *path) {
    (void)vfs;
    sqlite3_snprintf(capacity, path, "%s", name);
    return SQLITE_OK;
}

static int randomness(sqlite3_vfs *vfs, int count, char *bytes) {
    fault_disk *disk = mount_of(vfs)->disk;
    pthread_mutex_lock(&disk->mutex);
    for (int index = 0; index < count; index += 1) bytes[index] = (char)storage_random(disk);
    pthread_mutex_unlock(&disk->mutex);
    return count;
}

static int no_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static int current_time_64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
    fault_disk *disk = mount_of(vfs)->disk;
    pthread_mutex_lock(&disk->mutex);
    // Convert to milliseconds since noon of the first day of the Julian calendar.
    *milliseconds = disk->wall_time + 210866760000000;
    pthread_mutex_unlock(&disk->mutex);
    return SQLITE_OK;
}

static int current_time(sqlite3_vfs *vfs, double *days) {
    sqlite3_int64 milliseconds = 0;
    current_time_64(vfs, &milliseconds);
    *days = (double)milliseconds / 86400000.0;
    return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int capacity, char *text) {
    (void)vfs;
    if (capacity > 0) text[0] = 0;
    return 0;
}

sqlite3_vfs *vfs_prepare(fault_mount *mount) {
    mount->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(fault_file),
        .mxPathname = 512,
        .zName = mount->name,
        .pAppData = mount,
        .xOpen = open_file,
        .xDelete = delete_file,
        .xAccess = access_file,
        .xFullPathname = full_path,
        .xRandomness = randomness,
        .xSleep = no_sleep,
        .xCurrentTime = current_time,
        .xGetLastError = last_error,
        .xCurrentTimeInt64 = current_time_64,
    };
    return &mount->vfs;
}
