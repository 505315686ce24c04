/* An SQLite database that is not believed: nothing in it runs, only tables are read, and no more work is done than a
 * file of its size can ask for. */
#ifndef WALLSHIM_IMPORT_NSIGHT_BASE_H
#define WALLSHIM_IMPORT_NSIGHT_BASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nsight_base {
    sqlite3 *handle;
    uint64_t file_bytes;
    uint64_t steps_left; /* of SQLite's machine, in units of its progress handler */
    uint64_t bytes_left; /* of values */
    bool broken;         /* not even the list of tables can be read */
    bool spent;          /* nothing is left: no statement comes to an end any more */
    const char *other;   /* which other program wrote it, as it seems; or NULL */
};

/* Returns 0 or -errno; call nsight_base_close in any case. */
int nsight_base_open(struct nsight_base *base, const char *path);

void nsight_base_close(struct nsight_base *base);

/* Is it a table: no view, which may never end, and no virtual one? */
bool nsight_base_has_table(const struct nsight_base *base, const char *table);

/* Has that table such a column, with values that are stored? */
bool nsight_base_has_column(struct nsight_base *base, const char *table, const char *column);

/* Does the query, whose parameter is `text`, have a row? */
bool nsight_base_answers(struct nsight_base *base, const char *sql, const char *text);

/* Takes account of a row's values. */
void nsight_base_count(struct nsight_base *base, sqlite3_stmt *row);

/* Texts are looked up by id: where a file has no index for that, a copy that has one takes their table's place. */
void nsight_base_index_texts(struct nsight_base *base);

#endif
