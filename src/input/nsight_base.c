#include "input/nsight_base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Maximum size in bytes: of a value in a table, and of a value in the list of tables (sqlite_master). */
enum { LONGEST_VALUE = 1 << 24, LONGEST_NAME = 1 << 17 };

/* Limits on the cost of reading. A malicious file could take endless time or memory by cyclic pages or endless rows.
 * For each byte of a real export, SQLite's virtual machine takes less than one step and reads half a byte of values.
 * The limits per byte are much higher. */
enum { STEPS_A_UNIT = 1000, STEPS_A_BYTE = 10, BYTES_A_BYTE = 64 };
static const uint64_t steps_anyhow = 20000000, bytes_anyhow = 64 << 20;

/* Makes the URI "file:PATH?immutable=1". With such a URI, SQLite takes no lock and creates no other file next to the
 * database. */
static char *make_uri(const char *path)
{
    char *uri = malloc(strlen(path) * 3 + 32), *at = uri;
    if (!uri)
        return NULL;
    at += sprintf(at, "file:");
    for (; *path; path++)
        at += strchr("?#%", *path) ? sprintf(at, "%%%02x", *path) : sprintf(at, "%c", *path);
    sprintf(at, "?immutable=1");
    return uri;
}

/* Returns whether the query, with the parameter `text`, has a row. */
static bool has_row(struct nsight_base *base, const char *sql, const char *text)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    if (!sqlite3_prepare_v2(base->handle, sql, -1, &statement, NULL)) {
        sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
        found = sqlite3_step(statement) == SQLITE_ROW;
    }
    if (!found && sqlite3_errcode(base->handle) != SQLITE_DONE && sqlite3_errcode(base->handle) != SQLITE_OK)
        base->broken = true;
    sqlite3_finalize(statement);
    return found;
}

/* Recognizes files of other programs by the name of a table. nvprof uses some table names of Nsight Systems, but
 * other columns. */
static const char *find_other(struct nsight_base *base)
{
    static const struct {
        const char *table, *text;
    } others[] = {
        { "StringTable",
          "a profile of nvprof, which is not supported: record the program with Nsight Systems or wallshim" },
        { "rocpd_%", "a profile of AMD's rocprof (rocpd), which is not supported: use the PyTorch profiler's JSON" },
        { "STRING_IDS", "a profile of Ascend, which is not supported" },
    };
    static const char like[] = "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name LIKE ?1";
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (has_row(base, like, others[i].table))
            return nsight_base_has_table(base, "StringIds") ? NULL : others[i].text;
    return NULL;
}

static int spend_steps(void *user)
{
    struct nsight_base *base = user;
    base->spent = base->spent || !base->steps_left;
    base->steps_left -= !base->spent;
    return base->spent;
}

int nsight_base_open(struct nsight_base *base, const char *path)
{
    struct stat about;
    char *uri = make_uri(path);
    *base = (struct nsight_base){ 0 };
    if (!uri)
        return -ENOMEM;
    int status = stat(path, &about) ? -errno : 0;
    if (!status && sqlite3_open_v2(uri, &base->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL))
        status = -EIO;
    free(uri);
    if (status)
        return status;
    base->file_bytes = (uint64_t)about.st_size;
    base->steps_left = (steps_anyhow + base->file_bytes * STEPS_A_BYTE) / STEPS_A_UNIT;
    base->bytes_left = bytes_anyhow + base->file_bytes * BYTES_A_BYTE;
    sqlite3_progress_handler(base->handle, STEPS_A_UNIT, spend_steps, base);
    sqlite3_db_config(base->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(base->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_drop_modules(base->handle, NULL); /* removes all modules, so that no table can be virtual */
    sqlite3_limit(base->handle, SQLITE_LIMIT_LENGTH, LONGEST_NAME);
    base->other = find_other(base);
    sqlite3_limit(base->handle, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    return 0;
}

void nsight_base_close(struct nsight_base *base)
{
    sqlite3_close(base->handle);
}

/* Uses SQLite's own function, because the list of tables in a damaged file may call a view a table. */
bool nsight_base_has_table(const struct nsight_base *base, const char *table)
{
    return !sqlite3_table_column_metadata(base->handle, "main", table, NULL, NULL, NULL, NULL, NULL, NULL);
}

bool nsight_base_has_column(struct nsight_base *base, const char *table, const char *column)
{
    char sql[256]; /* the query uses a pragma that leaves out computed columns */
    snprintf(sql, sizeof(sql), "SELECT 1 FROM pragma_table_info('%s') WHERE name = ?1", table);
    return nsight_base_has_table(base, table) && has_row(base, sql, column);
}

void nsight_base_count(struct nsight_base *base, sqlite3_stmt *row)
{
    for (int i = sqlite3_data_count(row); i-- > 0;) {
        int type = sqlite3_column_type(row, i);
        if (type != SQLITE_TEXT && type != SQLITE_BLOB)
            continue;
        uint64_t bytes = (uint64_t)sqlite3_column_bytes(row, i);
        base->spent = base->spent || bytes > base->bytes_left;
        base->bytes_left -= base->spent ? 0 : bytes;
    }
}

void nsight_base_index_texts(struct nsight_base *base)
{
    static const char keyed[] = "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'id' AND pk = 1";
    char sql[512];
    if (!nsight_base_has_column(base, "StringIds", "id") || !nsight_base_has_column(base, "StringIds", "value") ||
        has_row(base, keyed, "StringIds"))
        return;
    /* Limits the copy of StringIds to twice the size of the file plus 4 MiB: a page has 4096 bytes. */
    snprintf(sql, sizeof(sql),
             "PRAGMA temp.max_page_count = %llu;"
             "CREATE TEMP TABLE StringIds (id INTEGER PRIMARY KEY, value);"
             "INSERT OR IGNORE INTO temp.StringIds SELECT id, value FROM main.StringIds WHERE typeof(id) = 'integer'",
             (unsigned long long)base->file_bytes / 2048 + 1024);
    sqlite3_exec(base->handle, sql, NULL, NULL, NULL);
}
