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

int csqlitestore_set_defensive(struct sqlite3 *connection) {
    int on = 0;
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
    return code != SQLITE_OK ? code : (on == 1 ? SQLITE_OK : SQLITE_MISUSE);
}
