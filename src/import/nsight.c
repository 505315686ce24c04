/* Exports of Nsight Systems: SQLite databases (nsys export --type sqlite), whose tables and columns vary with
 * its version. What a file lacks is read as nothing: a column as NULL, a table as empty. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/importer.h"
#include "import/nsight.h"

enum { ROWS_A_PIECE = 4096, LONGEST_VALUE = 1 << 24, MOST_SQL = 4096 };

/* Each is read by itself. A file that speaks of more is of no machine, and read as if they were one. */
enum { MOST_PROCESSES = 256 };

/* What tells processes apart in globalPid and in globalTid, whose last bits are the thread. */
#define PROCESS_OF "& -16777216"

struct reading {
    struct nsight nsight;
    sqlite3 *base;
    sqlite3_stmt *rows; /* of the table being read */
    size_t table;       /* in nsight_tables */
    bool prepared;
    bool any;                              /* a table of theirs was found */
    bool broken;                           /* not even the list of tables can be read */
    int64_t processes[MOST_PROCESSES + 1]; /* globalPid of those that used a device */
    size_t process_count;
    size_t chosen; /* place in processes + 1; 0: all */
    uint64_t file_bytes;
};

static bool claims(const unsigned char *head, size_t size)
{
    return size >= 16 && !memcmp(head, "SQLite format 3", 16);
}

static void close_reading(void *state)
{
    struct reading *reading = state;
    sqlite3_finalize(reading->rows);
    sqlite3_close(reading->base);
    nsight_finish(&reading->nsight);
    free(reading);
}

/* "file:PATH?immutable=1": no lock is taken, nothing is written beside the file. */
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

static int open_reading(void **state, const char *path, struct ws_gather *gather)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    char *uri = make_uri(path);
    struct stat about;
    int status = reading && uri ? 0 : -ENOMEM;
    if (!status && stat(path, &about))
        status = -errno;
    if (!status) {
        nsight_init(&reading->nsight, gather);
        reading->file_bytes = (uint64_t)about.st_size;
        if (sqlite3_open_v2(uri, &reading->base, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL))
            status = -EIO;
    }
    free(uri);
    if (status) {
        if (reading)
            close_reading(reading);
        return status;
    }
    /* The file is not believed: nothing in it may run, and no value fill the memory. */
    sqlite3_db_config(reading->base, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(reading->base, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(reading->base, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    *state = reading;
    return 0;
}

/* --- tables and columns that may be there or not --------------------------------------------------- */

static bool answers(struct reading *reading, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    if (!sqlite3_prepare_v2(reading->base, sql, -1, &statement, NULL)) {
        sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
        if (second)
            sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
        found = sqlite3_step(statement) == SQLITE_ROW;
    }
    if (!found && sqlite3_errcode(reading->base) != SQLITE_DONE && sqlite3_errcode(reading->base) != SQLITE_OK)
        reading->broken = true;
    sqlite3_finalize(statement);
    return found;
}

static bool has_table(struct reading *reading, const char *table)
{
    return answers(reading, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", table, NULL);
}

static bool has_column(struct reading *reading, const char *table, const char *column)
{
    return answers(reading, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", table, column);
}

/* A column that names another table's row is asked for as "column>Table.value": the value, looked up. */
static int add_column(struct reading *reading, const char *table, const char *wanted, char *sql)
{
    char column[64], other[64], value[64];
    int parts = sscanf(wanted, "%63[^>]>%63[^.].%63s", column, other, value);
    if (!has_column(reading, table, column) || (parts == 3 && !has_column(reading, other, value)))
        return snprintf(sql, MOST_SQL / 2, "NULL");
    if (parts == 3)
        return snprintf(sql, MOST_SQL / 2, "(SELECT o.\"%s\" FROM \"%s\" o WHERE o.id = t.\"%s\")", value, other,
                        column);
    return snprintf(sql, MOST_SQL / 2, "t.\"%s\"", column);
}

/* Texts are looked up by id: where a file has no index for that, a copy that has one takes their table's place. */
static void index_texts(struct reading *reading)
{
    static const char keyed[] = "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'id' AND pk = 1";
    static const char copy[] = "CREATE TEMP TABLE StringIds (id INTEGER PRIMARY KEY, value);"
                               "INSERT OR IGNORE INTO temp.StringIds SELECT id, value FROM main.StringIds "
                               "WHERE typeof(id) = 'integer'";
    reading->prepared = true;
    if (has_column(reading, "StringIds", "id") && has_column(reading, "StringIds", "value") &&
        !answers(reading, keyed, "StringIds", NULL))
        sqlite3_exec(reading->base, copy, NULL, NULL, NULL);
}

/* " WHERE …" of rows of the process that was chosen, in tables that say whose rows are. */
static int add_condition(struct reading *reading, const char *table, char *sql, size_t capacity)
{
    static const char *const columns[] = { "globalPid", "globalTid" };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && reading->chosen; i++)
        if (has_column(reading, table, columns[i]))
            return snprintf(sql, capacity, " WHERE (t.\"%s\" " PROCESS_OF ") = %lld", columns[i],
                            (long long)reading->processes[reading->chosen - 1]);
    return 0;
}

/* --- processes -------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_processes(struct reading *reading, const char *table)
{
    char sql[MOST_SQL];
    sqlite3_stmt *rows = NULL;
    if (!has_table(reading, table) || !has_column(reading, table, "globalPid"))
        return;
    snprintf(sql, sizeof(sql),
             "SELECT DISTINCT globalPid " PROCESS_OF " FROM \"%s\" WHERE typeof(globalPid) = 'integer' LIMIT %d",
             table, MOST_PROCESSES + 1);
    if (sqlite3_prepare_v2(reading->base, sql, -1, &rows, NULL))
        return;
    while (reading->process_count <= MOST_PROCESSES && sqlite3_step(rows) == SQLITE_ROW) {
        int64_t process = sqlite3_column_int64(rows, 0);
        size_t at = 0;
        while (at < reading->process_count && reading->processes[at] != process)
            at++;
        reading->processes[at] = process;
        reading->process_count += at == reading->process_count;
    }
    sqlite3_finalize(rows);
}

static size_t count_processes(void *state)
{
    struct reading *reading = state;
    if (!reading->process_count) {
        for (size_t i = 0; i < nsight_table_count; i++)
            if (nsight_tables[i].of_device)
                add_processes(reading, nsight_tables[i].name);
        qsort(reading->processes, reading->process_count, sizeof(*reading->processes), by_number);
    }
    bool told_apart = reading->process_count && reading->process_count <= MOST_PROCESSES;
    return told_apart ? reading->process_count : 1;
}

static void choose(void *state, size_t process)
{
    struct reading *reading = state;
    if (process >= count_processes(reading) || process >= reading->process_count)
        return;
    reading->chosen = process + 1;
    nsight_choose(&reading->nsight, reading->processes[process]);
}

/* --- one table after the other ----------------------------------------------------------------------- */

/* Starts on the next table that is there. Returns 1, 0 when there is none left, or -ENOMEM. */
static int next_table(struct reading *reading)
{
    char sql[MOST_SQL];
    if (!reading->prepared) {
        index_texts(reading);
        if (count_processes(reading) == 1 && reading->process_count == 1)
            nsight_alone(&reading->nsight, reading->processes[0]);
    }
    for (; reading->table < nsight_table_count; reading->table++) {
        const struct nsight_table *table = &nsight_tables[reading->table];
        if (!has_table(reading, table->name))
            continue;
        reading->any = true;
        int used = snprintf(sql, sizeof(sql), "SELECT ");
        for (size_t i = 0; i < NSIGHT_COLUMNS && table->columns[i] && used < MOST_SQL / 2; i++) {
            used += snprintf(sql + used, 3, "%s", i ? ", " : "");
            used += add_column(reading, table->name, table->columns[i], sql + used);
        }
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, " FROM \"%s\" t", table->name);
        used += add_condition(reading, table->name, sql + used, sizeof(sql) - (size_t)used);
        snprintf(sql + used, sizeof(sql) - (size_t)used, "%s%s",
                 table->order && has_column(reading, table->name, table->order) ? " ORDER BY t." : "",
                 table->order && has_column(reading, table->name, table->order) ? table->order : "");
        int error = sqlite3_prepare_v2(reading->base, sql, -1, &reading->rows, NULL);
        if (!error)
            return 1;
        if (error == SQLITE_NOMEM)
            return -ENOMEM;
    }
    return 0;
}

/* --- reading --------------------------------------------------------------------------------------- */

/* What else writes SQLite, by a table of its own. nvprof's tables have Nsight Systems' names, and other columns. */
static const char *other_writer(struct reading *reading)
{
    static const struct {
        const char *table, *text;
    } others[] = {
        { "StringTable",
          "a profile of nvprof's, which is not read: record the program with Nsight Systems or wallshim" },
        { "rocpd_%", "a profile of AMD's rocprof (rocpd), which is not read: wanted is the PyTorch profiler's JSON" },
        { "STRING_IDS", "a profile of Ascend's, which is not read" },
    };
    static const char like[] = "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name LIKE ?1";
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (answers(reading, like, others[i].table, NULL))
            return others[i].text;
    return NULL;
}

static int finish_reading(struct reading *reading, char *message, size_t capacity)
{
    if (reading->any || has_table(reading, "StringIds"))
        return 0;
    snprintf(message, capacity,
             reading->broken ? "this SQLite file is damaged; export it again: nsys export --type sqlite"
                             : "no trace: this SQLite file has none of Nsight Systems' tables; wanted is what "
                               "nsys export --type sqlite writes");
    return -EINVAL;
}

static int read_piece(void *state, struct ws_damage *damage, char *message, size_t capacity)
{
    struct reading *reading = state;
    struct ws_gather *gather = reading->nsight.gather;
    const char *other = reading->prepared ? NULL : other_writer(reading);
    if (other && !has_table(reading, "StringIds")) {
        snprintf(message, capacity, "%s", other);
        return -EINVAL;
    }
    if (!reading->rows) {
        int status = next_table(reading);
        if (status < 0)
            return status;
        if (!status)
            return finish_reading(reading, message, capacity);
    }
    for (int i = 0; i < ROWS_A_PIECE && !gather->error; i++) {
        int status = sqlite3_step(reading->rows);
        if (status == SQLITE_ROW) {
            nsight_tables[reading->table].take(&reading->nsight, reading->rows);
            continue;
        }
        if (status == SQLITE_NOMEM)
            return -ENOMEM;
        damage->lost_frames += status != SQLITE_DONE; /* the rest of the table */
        sqlite3_finalize(reading->rows);
        reading->rows = NULL;
        reading->table++;
        break;
    }
    return gather->error ? gather->error : 1;
}

static void position(const void *state, uint64_t *done, uint64_t *total)
{
    const struct reading *reading = state;
    *total = reading->file_bytes;
    *done = reading->file_bytes / nsight_table_count * reading->table;
}

const struct ws_importer ws_importer_nsight = {
    .claims = claims,
    .open = open_reading,
    .read = read_piece,
    .processes = count_processes,
    .choose = choose,
    .position = position,
    .close = close_reading,
};
