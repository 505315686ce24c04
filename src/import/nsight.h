/* Between the files of the Nsight Systems importer. */
#ifndef WALLSHIM_IMPORT_NSIGHT_H
#define WALLSHIM_IMPORT_NSIGHT_H

#include <sqlite3.h>

#include "import/gather.h"

enum { NSIGHT_COLUMNS = 20 };
#define NSIGHT_AMBIGUOUS UINT64_MAX

struct nsight {
    struct ws_gather *gather;
    struct ws_intern processes; /* int64_t globalPid; the first is whose name the trace gets */
    int64_t pid;                /* of the one process that is read; -1: they are several, or it is not known */
    struct ws_map visible;      /* GPU + 1 → how that process numbers it + 1 */
    struct ws_map recorded;     /* event → context it was recorded in, or NSIGHT_AMBIGUOUS */
};

/* One table as it is read. Columns that a file lacks are NULL. */
struct nsight_table {
    const char *name;
    const char *columns[NSIGHT_COLUMNS]; /* "column", or "column>Table.value" for what it refers to by id */
    void (*take)(struct nsight *nsight, sqlite3_stmt *row);
    const char *order; /* column to order rows by; NULL: as they come */
    bool of_device;    /* operations of devices: who has rows here is a process of the program */
};

/* What calls were about, in tables of their own (nsight_details.c). */
void nsight_take_memory(struct nsight *nsight, sqlite3_stmt *row);
void nsight_take_record(struct nsight *nsight, sqlite3_stmt *row);
void nsight_take_wait(struct nsight *nsight, sqlite3_stmt *row); /* after all records */

extern const struct nsight_table nsight_tables[];
extern const size_t nsight_table_count;

void nsight_init(struct nsight *nsight, struct ws_gather *gather);

/* No other process did anything on a device. */
void nsight_alone(struct nsight *nsight, int64_t global);

/* Only this process is read: its number is noted, for a file need not say what it was. */
void nsight_choose(struct nsight *nsight, int64_t global);

void nsight_finish(struct nsight *nsight);

/* An identifier of a process's own (global: its globalPid, or a globalTid), as no other process has it. */
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
