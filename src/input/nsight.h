/* Internal to the Nsight Systems importer. In an export, a globalPid identifies a process and a globalTid a thread
 * (nsight_tables.c says how). */
#ifndef WALLSHIM_INPUT_NSIGHT_H
#define WALLSHIM_INPUT_NSIGHT_H

#include <sqlite3.h>

#include "input/gather.h"

enum { NSIGHT_COLUMNS = 20 };
#define NSIGHT_AMBIGUOUS UINT64_MAX

struct nsight {
    struct ws_gather *gather;
    struct ws_intern processes; /* globalPids (int64_t); pid and name of the first process go into the metadata */
    int64_t pid;                /* pid of the process that is read; -1: several, or unknown */
    struct ws_map visible;      /* GPU's number in the machine + 1 → the number that the process uses for it + 1 */
    struct ws_map recorded; /* event → context in which the event was recorded; NSIGHT_AMBIGUOUS: several contexts */
};

/* A table of an Nsight Systems export. A column that a file lacks is read as NULL. */
struct nsight_table {
    const char *name;
    const char *columns[NSIGHT_COLUMNS]; /* "column", or "column>Table.value": the value in the row of Table whose id
                                            equals the column */
    void (*take)(struct nsight *nsight, sqlite3_stmt *row);
    const char *order; /* column by which the rows are ordered; NULL: none */
    bool of_device;    /* each row is an operation on a device, so the row's process used a device */
};

/* Each of these functions reads one row of a table that holds details of calls (nsight_details.c). */
void nsight_take_memory(struct nsight *nsight, sqlite3_stmt *row);
void nsight_take_record(struct nsight *nsight, sqlite3_stmt *row);
/* Call nsight_take_wait only after all rows were given to nsight_take_record, which finds ambiguous events. */
void nsight_take_wait(struct nsight *nsight, sqlite3_stmt *row);

extern const struct nsight_table nsight_tables[];
extern const size_t nsight_table_count;

void nsight_init(struct nsight *nsight, struct ws_gather *gather);

/* Notes that this process is the only one in the file that used a device. */
void nsight_alone(struct nsight *nsight, int64_t global);

/* Notes that only this process of the file is read. Writes the process's pid into the metadata at once, because the
 * file may lack a description of the process. */
void nsight_choose(struct nsight *nsight, int64_t global);

void nsight_finish(struct nsight *nsight);

/* Turns `id`, which is unique in its process, into an identifier that is unique in the file. global is the process's
 * globalPid, or a globalTid of the process. */
uint64_t nsight_of_process(struct nsight *nsight, int64_t global, int64_t id);

static inline struct ws_text nsight_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return (struct ws_text){ text ? text : "", text ? (uint32_t)sqlite3_column_bytes(row, column) : 0 };
}

static inline bool nsight_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

#endif
