#include "CSQLite.h"
#include <stddef.h>

int64_t csqlite_wal_size(sqlite3 *connection) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return -1;
    if (file == NULL || file->pMethods == NULL) return 0;
    return file->pMethods->xFileSize(file, &size) == SQLITE_OK ? size : -1;
}

static int rewrite(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset) {
    int code = file->pMethods->xRead(file, buffer, size, offset);
    return code != SQLITE_OK ? code : file->pMethods->xWrite(file, buffer, size, offset);
}

int csqlite_rewrite_wal(sqlite3 *connection) {
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
    code = rewrite(file, buffer, HEADER, 0);
    if (code == SQLITE_OK) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    for (sqlite3_int64 offset = HEADER; code == SQLITE_OK && offset < size; offset += CHUNK) {
        code = rewrite(file, buffer, size - offset < CHUNK ? (int)(size - offset) : CHUNK, offset);
    }
    if (code == SQLITE_OK) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    sqlite3_free(buffer);
    return code;
}

int csqlite_keep_wal_on_close(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int csqlite_set_defensive(sqlite3 *connection) {
    int on = 0;
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
    return code != SQLITE_OK ? code : (on == 1 ? SQLITE_OK : SQLITE_MISUSE);
}

int csqlite_refuse_double_quoted_strings(sqlite3 *connection) {
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    return code != SQLITE_OK ? code : sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
}
