#ifndef STORAGE_H
#define STORAGE_H

#include "fault_vfs.h"

#include <pthread.h>

#define PIECE 512
#define MAXIMUM_RULES 64
#define LOG_LENGTH 256
#define SHM_SLOTS 8

// A write or truncation that has not reached the medium yet.
typedef struct pending {
    struct pending *next;
    bool is_truncation;
    int64_t offset;  // or the new size of a truncation
    int64_t size;
    uint8_t bytes[];
} pending;

typedef struct {
    uint8_t *bytes;
    int64_t size;
    int64_t capacity;
} image;

struct shm;
struct fault_file;

typedef struct inode {
    int references;  // the number of open files and directory entries
    uint32_t class;
    char *name;  // the name at its creation
    image live;
    image durable;
    pending *first, *last;
    struct fault_file *files;
    struct shm *shm;
} inode;

typedef struct {
    char *name;
    inode *inode;
} entry;

typedef struct {
    entry *entries;
    size_t count, capacity;
} directory;

struct fault_disk {
    pthread_mutex_t mutex;
    int references;  // the owner and the mounts
    uint64_t random;
    /// The random state for failed syncs, separate so that other draws do not change.
    uint64_t sync_random;
    directory live;
    directory durable;
    fault_mount *mounts;
    fault_rule rules[MAXIMUM_RULES];
    size_t rule_count;
    double garbage;
    int64_t capacity;
    int64_t used;
    bool is_read_only;
    /// The number of callers that currently want no faults.
    int leniency;
    int64_t wall_time;
    uint64_t operations;
    uint64_t logged;
    uint64_t by_kind[FAULT_KIND_COUNT];
    uint64_t hits;
    uint64_t hits_by_class[FAULT_CLASS_COUNT];
    uint64_t power_losses;
    uint64_t unsynced;
    uint64_t hash;
    fault_operation log[LOG_LENGTH];
};

struct fault_mount {
    int references;  // the owner and the open files
    fault_disk *disk;
    fault_mount *next;
    bool is_dead;
    size_t open_files;
    char name[40];
    sqlite3_vfs vfs;
};

// The WAL index, shared by the processes that have a database open.
typedef struct shm {
    int references;
    int region_count;
    int region_size;
    void **regions;
    inode *inode;  // NULL once every process that had it open is dead
} shm;

typedef struct fault_file {
    sqlite3_file base;
    fault_mount *mount;
    inode *inode;
    struct fault_file *next;  // of the same inode
    int level;
    int flags;
    bool syncs_directory;
    bool deletes_on_close;
    /// Whether a sync of the same inode through another file failed. Linux reports that once to each open file.
    bool owes_failure;
    shm *shm;
    uint16_t shm_shared, shm_exclusive;
} fault_file;

// All functions below must be called with the disk's mutex held.

uint64_t storage_random(fault_disk *disk);
uint64_t storage_below(uint64_t *state, uint64_t bound);

inode *storage_find(directory *directory, const char *name);
inode *storage_make(fault_disk *disk, const char *name, uint32_t class);
void storage_link(fault_disk *disk, directory *directory, const char *name, inode *inode);
bool storage_unlink(fault_disk *disk, directory *directory, const char *name);
void storage_retain(inode *inode);
void storage_drop(fault_disk *disk, inode *inode);
void storage_sync_directory(fault_disk *disk);

int storage_write(fault_disk *disk, inode *inode, const void *bytes, int64_t size, int64_t offset);
void storage_truncate(fault_disk *disk, inode *inode, int64_t size);
void storage_sync(fault_disk *disk, inode *inode);
/// Simulates a failed sync. Either the writes stay pending, or, as on Linux, processes still see them, no later sync
/// writes them, and the next loss of power loses those that did not reach the medium by chance (Rebello et al.: Can
/// Applications Recover from fsync Failures?, USENIX ATC 2020).
void storage_fail_sync(fault_disk *disk, inode *inode);
void storage_settle(fault_disk *disk, inode *inode);

void storage_lose_power(fault_disk *disk, uint64_t seed);
void storage_kill(fault_mount *mount);

// The decision about an operation.
typedef struct {
    int effect;  // -1 when the operation may proceed
    int code;
} verdict;

verdict storage_judge(fault_mount *mount, uint32_t kind, uint32_t class);
int storage_log(
    fault_mount *mount, uint32_t kind, uint32_t class, const char *name, int64_t offset, int64_t size, int result);
// Carries out a kill or a loss of power, and returns the result code for the caller.
int storage_carry_out(fault_mount *mount, verdict verdict, uint32_t kind);

void shm_release(shm *shm);
sqlite3_vfs *vfs_prepare(fault_mount *mount);
void mount_drop(fault_mount *mount);

#endif
