#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An in-memory disk under SQLite that fails on demand.
//
// A disk holds files. Each file consists of the contents that are certainly on the medium and a list of unsynced
// writes. A mount is a process that uses the disk: a sqlite3_vfs with a unique name. Several mounts of one disk act as
// concurrent processes with locks and shared memory between them. When a process is killed, its files answer every
// later call with an error, and its locks are released. When the power fails, that happens to every process, and only a
// subset of the unsynced data survives, which the seed selects in pieces of 512 bytes.
//
// All functions are safe to call from any thread. Nothing waits: the sleep of a busy handler returns at once.

typedef struct fault_disk fault_disk;
typedef struct fault_mount fault_mount;

// The operations that SQLite performs on a disk. A rule contains a set of them.
enum {
    FAULT_OPEN = 1 << 0,
    FAULT_READ = 1 << 1,
    FAULT_WRITE = 1 << 2,
    FAULT_TRUNCATE = 1 << 3,
    FAULT_SYNC = 1 << 4,
    FAULT_DELETE = 1 << 5,
    FAULT_LOCK = 1 << 6,
    FAULT_SHM_LOCK = 1 << 7,
    FAULT_SHM_MAP = 1 << 8,
    FAULT_ACCESS = 1 << 9,
    FAULT_KIND_COUNT = 10,
};

// The kinds of files that SQLite uses. A rule contains a set of them.
enum {
    FAULT_FILE_DATABASE = 1 << 0,
    FAULT_FILE_JOURNAL = 1 << 1,
    FAULT_FILE_WAL = 1 << 2,
    FAULT_FILE_OTHER = 1 << 3,
    FAULT_FILE_ANY = 15,
};

// The effect of a rule on an operation that it matches.
enum {
    FAULT_EFFECT_FAIL = 0,
    FAULT_EFFECT_KILL = 1,
    FAULT_EFFECT_POWER_LOSS = 2,
};

// The classes of faults, which are more precise than the effects.
enum {
    FAULT_CLASS_ERROR = 0,
    FAULT_CLASS_FULL = 1,
    FAULT_CLASS_BUSY = 2,
    FAULT_CLASS_KILL = 3,
    FAULT_CLASS_POWER_LOSS = 4,
    FAULT_CLASS_COUNT = 5,
};

typedef struct {
    uint32_t kinds;
    uint32_t files;
    /// The number of matching operations that succeed first.
    uint64_t skip;
    /// The number of operations to affect after that; UINT64_MAX for all.
    uint64_t times;
    /// The fraction of the matching operations to affect.
    double rate;
    int32_t effect;
    /// The result of a failed operation: SQLITE_IOERR, SQLITE_FULL, SQLITE_BUSY, SQLITE_CANTOPEN.
    int32_t code;
} fault_rule;

/// An operation in the log.
typedef struct {
    uint64_t number;
    uint32_t kind;
    uint32_t file;
    int64_t offset;
    int64_t size;
    int32_t result;
    char name[48];
} fault_operation;

fault_disk *fault_disk_create(uint64_t seed);
/// Releases the disk. It is freed with its last mount and file.
void fault_disk_release(fault_disk *disk);

/// Adds a rule. Returns false when there is no room for another rule.
bool fault_disk_add_rule(fault_disk *disk, fault_rule rule);
void fault_disk_clear_rules(fault_disk *disk);
/// Suspends or resumes the rules. Calls can be nested.
///
/// While suspended, no rule affects an operation or counts down, and a read-only disk can be written to, because a
/// caller that only reads may need a connection that writes.
void fault_disk_set_lenient(fault_disk *disk, bool is_lenient);

/// Kills every process that uses the disk and loses unsynced data, except for a subset that the seed selects.
///
/// The fraction set by `fault_disk_set_garbage` of the lost pieces is overwritten with noise.
void fault_disk_lose_power(fault_disk *disk, uint64_t seed);
void fault_disk_set_garbage(fault_disk *disk, double fraction);

/// Sets the total size of all files above which writes fail with SQLITE_FULL. A negative value means no limit.
void fault_disk_set_capacity(fault_disk *disk, int64_t bytes);
void fault_disk_set_read_only(fault_disk *disk, bool is_read_only);

uint64_t fault_disk_operations(fault_disk *disk);
uint64_t fault_disk_operations_of_kind(fault_disk *disk, uint32_t kind);
/// The number of operations that a rule has affected.
uint64_t fault_disk_hits(fault_disk *disk);
/// The number of those in one class, which must be below FAULT_CLASS_COUNT.
uint64_t fault_disk_hits_of_class(fault_disk *disk, int class);
/// The number of power losses.
uint64_t fault_disk_power_losses(fault_disk *disk);
/// A hash of the kind, file, offset, size, and result of every operation so far.
uint64_t fault_disk_hash(fault_disk *disk);
/// Copies the last operations, oldest first, and returns their number.
size_t fault_disk_log(fault_disk *disk, fault_operation *operations, size_t capacity);

/// Copies the name of the file at an index, in byte order. Returns false when there are fewer files.
bool fault_disk_name_at(fault_disk *disk, size_t index, char *name, size_t capacity);
/// Returns the size of a file in bytes, or -1 when the file does not exist.
int64_t fault_disk_size(fault_disk *disk, const char *name);
/// Copies the contents of a file as processes see it, and returns the number of bytes, or -1 when the file does not
/// exist.
int64_t fault_disk_read(fault_disk *disk, const char *name, void *buffer, int64_t capacity);
/// Replaces a file durably. Processes that have the old file open keep it. Returns false when the disk is full.
bool fault_disk_replace(fault_disk *disk, const char *name, const void *bytes, int64_t size);
/// Removes a file durably. Processes that have it open keep it. Returns false when the file does not exist.
bool fault_disk_remove(fault_disk *disk, const char *name);
/// Flips bits of one byte, both as processes see it and on the medium. Returns false, and flips nothing, when there is
/// no such byte or no bit in the mask.
bool fault_disk_flip(fault_disk *disk, const char *name, int64_t offset, uint8_t mask);

/// Starts a process that uses the disk.
fault_mount *fault_mount_create(fault_disk *disk);
/// The name of its sqlite3_vfs.
const char *fault_mount_name(fault_mount *mount);
/// Kills the process as SIGKILL does: its completed writes stay, its locks are released, and its later calls fail.
void fault_mount_kill(fault_mount *mount);
bool fault_mount_is_dead(fault_mount *mount);
/// The number of files that the process has open, whether it is dead or not.
size_t fault_mount_open_files(fault_mount *mount);
/// Releases the process. Its name is unregistered with its last open file.
void fault_mount_release(fault_mount *mount);

/// Turns off SQLite's memory statistics in this process. Their lock would make disks on different threads wait for each
/// other. Returns false when SQLite is already in use.
bool fault_vfs_stop_counting_memory(void);

#endif
