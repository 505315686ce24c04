/* Names of files and folders, made from what a client says. */
#ifndef WALLSHIM_COLLECTOR_NAMES_H
#define WALLSHIM_COLLECTOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_SIZE = 160 };

/* Makes a name that is no path and no hidden file: what stands behind the last slash, with '_' for a first dot and
 * for characters that are not printable ASCII. If nothing is left, the name is `otherwise`. Long names are cut. The
 * name ends with `ending`. */
void name_make_safe(const char *text, const char *otherwise, const char *ending, char name[NAME_SIZE]);

/* Can the text be the name of a folder, as the user gives it? It may hold spaces and letters of any language. */
bool name_is_plain(const char *text);

/* Is the text a name that name_make_safe could have made? */
bool name_is_safe(const char *text);

#endif
