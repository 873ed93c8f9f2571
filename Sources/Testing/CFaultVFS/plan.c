#include "storage.h"

#include <stdio.h>
#include <string.h>

static uint32_t index_of(uint32_t kind) {
    return (uint32_t)__builtin_ctz(kind);
}

static int class_of(const fault_rule *rule) {
    if (rule->effect == FAULT_EFFECT_KILL) return FAULT_CLASS_KILL;
    if (rule->effect == FAULT_EFFECT_POWER_LOSS) return FAULT_CLASS_POWER_LOSS;
    switch (rule->code) {
    case SQLITE_FULL: return FAULT_CLASS_FULL;
    case SQLITE_BUSY: return FAULT_CLASS_BUSY;
    default: return FAULT_CLASS_ERROR;
    }
}

verdict storage_judge(fault_mount *mount, uint32_t kind, uint32_t class) {
    fault_disk *disk = mount->disk;
    if (mount->is_dead) return (verdict){ FAULT_EFFECT_FAIL, SQLITE_IOERR };
    disk->operations += 1;
    disk->by_kind[index_of(kind)] += 1;
    for (size_t index = 0; index < disk->rule_count && disk->leniency == 0; index += 1) {
        fault_rule *rule = &disk->rules[index];
        if ((rule->kinds & kind) == 0 || (rule->files & class) == 0 || rule->times == 0) continue;
        if (rule->skip > 0) {
            rule->skip -= 1;
            continue;
        }
        if (rule->rate < 1 && (double)(storage_random(disk) >> 11) * 0x1p-53 >= rule->rate) continue;
        if (rule->times != UINT64_MAX) rule->times -= 1;
        disk->hits += 1;
        disk->hits_by_class[class_of(rule)] += 1;
        return (verdict){ rule->effect, rule->code };
    }
    return (verdict){ -1, SQLITE_OK };
}

static int precise(int code, uint32_t kind) {
    if (code != SQLITE_IOERR) return code;
    switch (kind) {
    case FAULT_READ: return SQLITE_IOERR_READ;
    case FAULT_WRITE: return SQLITE_IOERR_WRITE;
    case FAULT_TRUNCATE: return SQLITE_IOERR_TRUNCATE;
    case FAULT_SYNC: return SQLITE_IOERR_FSYNC;
    case FAULT_DELETE: return SQLITE_IOERR_DELETE;
    case FAULT_LOCK: return SQLITE_IOERR_LOCK;
    case FAULT_SHM_LOCK: return SQLITE_IOERR_SHMLOCK;
    case FAULT_SHM_MAP: return SQLITE_IOERR_SHMMAP;
    case FAULT_ACCESS: return SQLITE_IOERR_ACCESS;
    case FAULT_OPEN: return SQLITE_CANTOPEN;
    default: return code;
    }
}

int storage_carry_out(fault_mount *mount, verdict verdict, uint32_t kind) {
    switch (verdict.effect) {
    case FAULT_EFFECT_KILL:
        storage_kill(mount);
        return SQLITE_IOERR;
    case FAULT_EFFECT_POWER_LOSS:
        storage_lose_power(mount->disk, storage_random(mount->disk));
        return SQLITE_IOERR;
    default:
        return precise(verdict.code, kind);
    }
}

static void stir(fault_disk *disk, uint64_t word) {
    for (int index = 0; index < 8; index += 1) {
        disk->hash = (disk->hash ^ (word & 0xFF)) * 0x00000100000001B3u;
        word >>= 8;
    }
}

int storage_log(
    fault_mount *mount, uint32_t kind, uint32_t class, const char *name, int64_t offset, int64_t size, int result)
{
    fault_disk *disk = mount->disk;
    // Calls of a dead process are not disk operations: they are neither counted nor judged.
    if (disk->logged == disk->operations) return result;
    disk->logged = disk->operations;
    stir(disk, kind);
    stir(disk, class);
    stir(disk, (uint64_t)offset);
    stir(disk, (uint64_t)size);
    stir(disk, (uint64_t)(uint32_t)result);
    fault_operation *line = &disk->log[(disk->operations + LOG_LENGTH - 1) % LOG_LENGTH];
    *line = (fault_operation){
        .number = disk->operations, .kind = kind, .file = class, .offset = offset, .size = size, .result = result
    };
    snprintf(line->name, sizeof line->name, "%s", name == NULL ? "" : name);
    return result;
}
