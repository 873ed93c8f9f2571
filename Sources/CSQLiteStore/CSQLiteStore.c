#include "CSQLiteStore.h"
#include <sqlite3.h>

int csqlitestore_set_defensive(struct sqlite3 *connection) {
    int on = 0;
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
    return code != SQLITE_OK ? code : (on == 1 ? SQLITE_OK : SQLITE_MISUSE);
}
