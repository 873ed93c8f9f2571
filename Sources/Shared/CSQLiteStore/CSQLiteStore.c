#include "CSQLiteStore.h"
#include <sqlite3.h>
#include <stddef.h>

int64_t csqlitestore_log_size(struct sqlite3 *connection) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return -1;
    if (file == NULL || file->pMethods == NULL) return 0;
    return file->pMethods->xFileSize(file, &size) == SQLITE_OK ? size : -1;
}

static int write_again(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset) {
    int code = file->pMethods->xRead(file, buffer, size, offset);
    return code != SQLITE_OK ? code : file->pMethods->xWrite(file, buffer, size, offset);
}

int csqlitestore_write_log_again(struct sqlite3 *connection) {
    enum { HEADER = 32, CHUNK = 64 * 1024 };
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (file == NULL || file->pMethods == NULL) return SQLITE_OK;
    code = file->pMethods->xFileSize(file, &size);
    if (code != SQLITE_OK || size < HEADER) return code;
    void *buffer = sqlite3_malloc(CHUNK);
    if (buffer == NULL) return SQLITE_NOMEM;
    // Flush the header by itself, as SQLite does: frames of the new WAL must never be found behind an older header.
    code = write_again(file, buffer, HEADER, 0);
    if (code == SQLITE_OK) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    for (sqlite3_int64 offset = HEADER; code == SQLITE_OK && offset < size; offset += CHUNK) {
        code = write_again(file, buffer, size - offset < CHUNK ? (int)(size - offset) : CHUNK, offset);
    }
    if (code == SQLITE_OK) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    sqlite3_free(buffer);
    return code;
}

int csqlitestore_keep_log_on_close(struct sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int csqlitestore_set_defensive(struct sqlite3 *connection) {
    int on = 0;
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
    return code != SQLITE_OK ? code : (on == 1 ? SQLITE_OK : SQLITE_MISUSE);
}
