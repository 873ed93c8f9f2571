#ifndef STORAGE_H
#define STORAGE_H

#include "fault_vfs.h"

#include <pthread.h>

#define PIECE 512
#define MAXIMUM_RULES 64
#define LOG_LENGTH 256
#define SHM_SLOTS 8

// One write or truncation that is not on the medium yet.
typedef struct pending {
    struct pending *next;
    bool is_truncation;
    int64_t offset;  // or the new size
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
    int references;  // open files and directory entries
    uint32_t class;
    char *name;  // under which it was made
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
    /// Decides what a failed sync does: apart, so that other draws stay as they are.
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
    /// How many callers want no faults at the moment.
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

// Wal-index shared by the processes that have a database open.
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
    /// A sync of another one failed: Linux tells it to everyone who had the file open, once.
    bool owes_failure;
    shm *shm;
    uint16_t shm_shared, shm_exclusive;
} fault_file;

// Everything below is called with the disk's mutex held.

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
/// A sync that failed: the writes stay pending; or, as on Linux, processes go on seeing them, no later sync sees to them,
/// and those that have not reached the medium by chance are lost with the next loss of power (Rebello et al.: Can
/// Applications Recover from fsync Failures?, USENIX ATC 2020).
void storage_fail_sync(fault_disk *disk, inode *inode);
void storage_settle(fault_disk *disk, inode *inode);

void storage_lose_power(fault_disk *disk, uint64_t seed);
void storage_kill(fault_mount *mount);

// What is to become of an operation.
typedef struct {
    int effect;  // -1: it may go on
    int code;
} verdict;

verdict storage_judge(fault_mount *mount, uint32_t kind, uint32_t class);
int storage_log(
    fault_mount *mount, uint32_t kind, uint32_t class, const char *name, int64_t offset, int64_t size, int result);
// Carries a kill or a power loss out; returns the code for the caller.
int storage_carry_out(fault_mount *mount, verdict verdict, uint32_t kind);

void shm_release(shm *shm);
sqlite3_vfs *vfs_prepare(fault_mount *mount);
void mount_drop(fault_mount *mount);

#endif
