#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A disk in memory under SQLite that fails on demand.
//
// A disk holds files, each as what is surely on the medium and a list of writes that were not synced yet. A mount is
// one process that uses the disk: a sqlite3_vfs under a name of its own. Several mounts of one disk are several
// processes beside each other, with locks and shared memory between them. When a process is killed, its files answer
// every call with an error from then on, and its locks are gone; when the power fails, that happens to every
// process, and of what was not synced a subset stays that the seed decides, in pieces of 512 bytes.
//
// All calls are safe from any thread. Nothing here waits: a busy handler that sleeps gets its time at once.

typedef struct fault_disk fault_disk;
typedef struct fault_mount fault_mount;

// What SQLite asks of a disk; a rule names a set of them.
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

// What a file is to SQLite; a rule names a set of them.
enum {
    FAULT_FILE_DATABASE = 1 << 0,
    FAULT_FILE_JOURNAL = 1 << 1,
    FAULT_FILE_WAL = 1 << 2,
    FAULT_FILE_OTHER = 1 << 3,
    FAULT_FILE_ANY = 15,
};

// What a rule does to the operation that it hits.
enum {
    FAULT_EFFECT_FAIL = 0,
    FAULT_EFFECT_KILL = 1,
    FAULT_EFFECT_POWER_LOSS = 2,
};

// The same, told apart further: what the one who uses the disk sees.
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
    /// So many matching operations pass first.
    uint64_t skip;
    /// Then so many are hit; UINT64_MAX: all.
    uint64_t times;
    /// Of those that could be hit, this fraction is.
    double rate;
    int32_t effect;
    /// The result of a failed operation: SQLITE_IOERR, SQLITE_FULL, SQLITE_BUSY, SQLITE_CANTOPEN.
    int32_t code;
} fault_rule;

/// One operation, as the log keeps it.
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
/// Gives the disk up; it goes when its last mount and file have gone.
void fault_disk_release(fault_disk *disk);

/// False when there is no room for another rule.
bool fault_disk_add_rule(fault_disk *disk, fault_rule rule);
void fault_disk_clear_rules(fault_disk *disk);
/// While anybody has set it no rule hits anything, nor counts down, and a read-only disk can be written to: for those who
/// only look, whose connection may have to be one that writes.
void fault_disk_set_lenient(fault_disk *disk, bool is_lenient);

/// Kills every process that uses the disk, and loses what was not synced, but for a subset that the seed decides.
/// Of the pieces that are lost, the fraction `garbage` is overwritten by noise.
void fault_disk_lose_power(fault_disk *disk, uint64_t seed);
void fault_disk_set_garbage(fault_disk *disk, double fraction);

/// The bytes of all files together, beyond which writes fail with SQLITE_FULL. Negative: no bound.
void fault_disk_set_capacity(fault_disk *disk, int64_t bytes);
void fault_disk_set_read_only(fault_disk *disk, bool is_read_only);

uint64_t fault_disk_operations(fault_disk *disk);
uint64_t fault_disk_operations_of_kind(fault_disk *disk, uint32_t kind);
/// How many operations a rule has hit.
uint64_t fault_disk_hits(fault_disk *disk);
/// How many of them were of one class, below FAULT_CLASS_COUNT.
uint64_t fault_disk_hits_of_class(fault_disk *disk, int class);
/// How often the power has failed.
uint64_t fault_disk_power_losses(fault_disk *disk);
/// Over kind, file, offset, size and result of every operation so far.
uint64_t fault_disk_hash(fault_disk *disk);
/// Copies the last operations, oldest first; returns how many.
size_t fault_disk_log(fault_disk *disk, fault_operation *operations, size_t capacity);

/// The names of the files, one at a time, in the order of their bytes. False when there are not so many.
bool fault_disk_name_at(fault_disk *disk, size_t index, char *name, size_t capacity);
/// The size of a file, or -1 when there is none.
int64_t fault_disk_size(fault_disk *disk, const char *name);
/// Copies a file as processes see it; returns how many bytes.
int64_t fault_disk_read(fault_disk *disk, const char *name, void *buffer, int64_t capacity);
/// Puts a file in the place of another one, durably. Who has the other one open keeps it.
bool fault_disk_replace(fault_disk *disk, const char *name, const void *bytes, int64_t size);
/// Removes a file durably. Who has it open keeps it. False when there is none.
bool fault_disk_remove(fault_disk *disk, const char *name);
/// Flips bits of one byte, as processes see it and on the medium. False when there is no such byte.
bool fault_disk_flip(fault_disk *disk, const char *name, int64_t offset, uint8_t mask);

/// Starts a process that uses the disk.
fault_mount *fault_mount_create(fault_disk *disk);
/// The name of its sqlite3_vfs.
const char *fault_mount_name(fault_mount *mount);
/// Ends the process as SIGKILL does: what it wrote stays, its locks are gone, its calls fail from now on.
void fault_mount_kill(fault_mount *mount);
bool fault_mount_is_dead(fault_mount *mount);
/// How many files it has open, killed or not.
size_t fault_mount_open_files(fault_mount *mount);
/// Gives the process up: its name goes with the last file that it has open.
void fault_mount_release(fault_mount *mount);

/// Lets SQLite count no memory in this process: the counts are under one lock, at which disks of several threads would wait
/// for each other. False when SQLite is in use already.
bool fault_vfs_stop_counting_memory(void);

#endif
