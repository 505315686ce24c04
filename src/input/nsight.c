/* Imports Nsight Systems exports: SQLite databases (nsys export --type sqlite). The tables and columns of an export
 * depend on the version of Nsight Systems. A missing column is read as NULL, a missing table as empty. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/importer.h"
#include "input/nsight.h"
#include "input/nsight_base.h"

enum { ROWS_A_PIECE = 4096, MOST_SQL = 4096 };

/* In a file with at most this number of processes, each process is read separately. A file with more processes is
 * read as one process. */
enum { MOST_PROCESSES = 256 };

/* SQL that keeps the part of a globalPid or globalTid that identifies the process. The lower 24 bits, which identify
 * the thread, become 0. */
#define PROCESS_OF "& -16777216"

struct reading {
    struct nsight nsight;
    struct nsight_base base;
    sqlite3_stmt *rows; /* query that returns the rows of the current table */
    size_t table;       /* index of the current table in nsight_tables */
    bool prepared;
    bool any;                              /* whether the file has one of nsight_tables */
    int64_t processes[MOST_PROCESSES + 1]; /* globalPids of the processes that used a device */
    size_t process_count;
    size_t chosen; /* index in `processes` + 1 of the only process to read; 0: all processes */
};

static bool nsight_claims(const unsigned char *head, size_t size)
{
    return size >= 16 && !memcmp(head, "SQLite format 3", 16);
}

static void nsight_close_reading(void *state)
{
    struct reading *reading = state;
    sqlite3_finalize(reading->rows);
    nsight_base_close(&reading->base);
    nsight_finish(&reading->nsight);
    free(reading);
}

static int nsight_open_reading(void **state, const char *path, struct ws_gather *gather)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        return -ENOMEM;
    nsight_init(&reading->nsight, gather);
    int status = nsight_base_open(&reading->base, path);
    if (status) {
        nsight_close_reading(reading);
        return status;
    }
    *state = reading;
    return 0;
}

/* --- tables and columns that may be missing -------------------------------------------------------- */

/* Writes the SQL that selects a column, or the SQL word NULL if the column is missing. "column>Table.value" selects
 * the value in the row of Table whose id equals the column. */
static int add_column(struct reading *reading, const char *table, const char *wanted, char *sql)
{
    char column[64], other[64], value[64];
    int parts = sscanf(wanted, "%63[^>]>%63[^.].%63s", column, other, value);
    if (!nsight_base_has_column(&reading->base, table, column) ||
        (parts == 3 && !nsight_base_has_column(&reading->base, other, value)))
        return snprintf(sql, MOST_SQL / 2, "NULL");
    if (parts == 3)
        return snprintf(sql, MOST_SQL / 2, "(SELECT o.\"%s\" FROM \"%s\" o WHERE o.id = t.\"%s\")", value, other,
                        column);
    return snprintf(sql, MOST_SQL / 2, "t.\"%s\"", column);
}

/* Writes the condition " WHERE …" that selects the chosen process, if a process was chosen and the table has a column
 * that gives the process. Returns the length of the text. */
static int add_condition(struct reading *reading, const char *table, char *sql, size_t capacity)
{
    static const char *const columns[] = { "globalPid", "globalTid" };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && reading->chosen; i++)
        if (nsight_base_has_column(&reading->base, table, columns[i]))
            return snprintf(sql, capacity, " WHERE (t.\"%s\" " PROCESS_OF ") = %lld", columns[i],
                            (long long)reading->processes[reading->chosen - 1]);
    return 0;
}

/* --- processes -------------------------------------------------------------------------------------- */

static int nsight_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_processes(struct reading *reading, const char *table)
{
    char sql[MOST_SQL];
    sqlite3_stmt *rows = NULL;
    if (!nsight_base_has_table(&reading->base, table) || !nsight_base_has_column(&reading->base, table, "globalPid"))
        return;
    snprintf(sql, sizeof(sql),
             "SELECT DISTINCT globalPid " PROCESS_OF " FROM \"%s\" WHERE typeof(globalPid) = 'integer' LIMIT %d",
             table, MOST_PROCESSES + 1);
    if (sqlite3_prepare_v2(reading->base.handle, sql, -1, &rows, NULL))
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

static size_t nsight_count_processes(void *state)
{
    struct reading *reading = state;
    if (!reading->process_count) {
        for (size_t i = 0; i < nsight_table_count; i++)
            if (nsight_tables[i].of_device)
                add_processes(reading, nsight_tables[i].name);
        qsort(reading->processes, reading->process_count, sizeof(*reading->processes), nsight_by_number);
    }
    bool told_apart = reading->process_count && reading->process_count <= MOST_PROCESSES;
    return told_apart ? reading->process_count : 1;
}

static void nsight_choose_process(void *state, size_t process)
{
    struct reading *reading = state;
    if (process >= nsight_count_processes(reading) || process >= reading->process_count)
        return;
    reading->chosen = process + 1;
    nsight_choose(&reading->nsight, reading->processes[process]);
}

/* --- one table after the other ----------------------------------------------------------------------- */

/* Prepares the query for the next of nsight_tables that exists in the file. Returns 1, 0 if there is no further
 * table, or -ENOMEM. */
static int next_table(struct reading *reading)
{
    char sql[MOST_SQL];
    if (!reading->prepared) {
        reading->prepared = true;
        nsight_base_index_texts(&reading->base);
        if (nsight_count_processes(reading) == 1 && reading->process_count == 1)
            nsight_alone(&reading->nsight, reading->processes[0]);
    }
    for (; reading->table < nsight_table_count; reading->table++) {
        const struct nsight_table *table = &nsight_tables[reading->table];
        if (!nsight_base_has_table(&reading->base, table->name))
            continue;
        reading->any = true;
        int used = snprintf(sql, sizeof(sql), "SELECT ");
        for (size_t i = 0; i < NSIGHT_COLUMNS && table->columns[i] && used < MOST_SQL / 2; i++) {
            used += snprintf(sql + used, 3, "%s", i ? ", " : "");
            used += add_column(reading, table->name, table->columns[i], sql + used);
        }
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, " FROM \"%s\" t", table->name);
        used += add_condition(reading, table->name, sql + used, sizeof(sql) - (size_t)used);
        snprintf(
            sql + used, sizeof(sql) - (size_t)used, "%s%s",
            table->order && nsight_base_has_column(&reading->base, table->name, table->order) ? " ORDER BY t." : "",
            table->order && nsight_base_has_column(&reading->base, table->name, table->order) ? table->order : "");
        int error = sqlite3_prepare_v2(reading->base.handle, sql, -1, &reading->rows, NULL);
        if (!error)
            return 1;
        if (error == SQLITE_NOMEM)
            return -ENOMEM;
    }
    return 0;
}

/* --- reading --------------------------------------------------------------------------------------- */

static int nsight_finish_reading(struct reading *reading, char *message, size_t capacity)
{
    if (reading->any || nsight_base_has_table(&reading->base, "StringIds"))
        return 0;
    snprintf(message, capacity,
             reading->base.broken
                 ? "this SQLite file is damaged; export it again: nsys export --type sqlite"
                 : "not a trace: this SQLite file has none of Nsight Systems' tables; use a file from nsys export "
                   "--type sqlite");
    return -EINVAL;
}

static int nsight_read_piece(void *state, struct ws_damage *damage, char *message, size_t capacity)
{
    struct reading *reading = state;
    struct ws_gather *gather = reading->nsight.gather;
    if (reading->base.other) {
        snprintf(message, capacity, "%s", reading->base.other);
        return -EINVAL;
    }
    if (!reading->rows) {
        int status = next_table(reading);
        if (status < 0)
            return status;
        if (!status)
            return nsight_finish_reading(reading, message, capacity);
    }
    for (int i = 0; i < ROWS_A_PIECE && !gather->error; i++) {
        int status = reading->base.spent ? SQLITE_INTERRUPT : sqlite3_step(reading->rows);
        if (status == SQLITE_ROW) {
            nsight_base_count(&reading->base, reading->rows);
            nsight_tables[reading->table].take(&reading->nsight, reading->rows);
            continue;
        }
        if (status == SQLITE_NOMEM)
            return -ENOMEM;
        damage->lost_frames += status != SQLITE_DONE; /* the rest of the table is lost */
        sqlite3_finalize(reading->rows);
        reading->rows = NULL;
        reading->table++;
        break;
    }
    return gather->error ? gather->error : 1;
}

static void nsight_position(const void *state, uint64_t *done, uint64_t *total)
{
    const struct reading *reading = state;
    *total = reading->base.file_bytes;
    *done = reading->base.file_bytes / nsight_table_count * reading->table;
}

const struct ws_importer ws_importer_nsight = {
    .claims = nsight_claims,
    .open = nsight_open_reading,
    .read = nsight_read_piece,
    .processes = nsight_count_processes,
    .choose = nsight_choose_process,
    .position = nsight_position,
    .close = nsight_close_reading,
};
