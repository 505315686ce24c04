/* Reads an untrusted SQLite database. Only plain tables are read, nothing in the file is executed, and the work is
 * bounded by the size of the file. */
#ifndef WALLSHIM_INPUT_NSIGHT_BASE_H
#define WALLSHIM_INPUT_NSIGHT_BASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nsight_base {
    sqlite3 *handle;
    uint64_t file_bytes;
    uint64_t steps_left; /* steps that SQLite's virtual machine may still take, in units of 1000 */
    uint64_t bytes_left; /* bytes of values that may still be read */
    bool broken;         /* the list of tables is unreadable */
    bool spent;          /* steps_left or bytes_left is used up, so nothing more is read */
    const char *other;   /* message about another program that seems to have written the file; or NULL */
};

/* Opens the file. Returns 0 or -errno. Call nsight_base_close in both cases. */
int nsight_base_open(struct nsight_base *base, const char *path);

void nsight_base_close(struct nsight_base *base);

/* Returns whether the file has a plain table of this name. Views and virtual tables do not count. Reading a view may
 * never end. */
bool nsight_base_has_table(const struct nsight_base *base, const char *table);

/* Returns whether the table has a stored column of that name. */
bool nsight_base_has_column(struct nsight_base *base, const char *table, const char *column);

/* Subtracts the sizes of a row's texts and blobs from bytes_left. Sets `spent` if bytes_left is too small. */
void nsight_base_count(struct nsight_base *base, sqlite3_stmt *row);

/* Makes look-ups of texts by id fast. If the table of texts has no index by id, an indexed copy replaces the
 * table. */
void nsight_base_index_texts(struct nsight_base *base);

#endif
