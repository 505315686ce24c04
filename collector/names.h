/* Makes names of files and folders from texts that clients send. */
#ifndef WALLSHIM_COLLECTOR_NAMES_H
#define WALLSHIM_COLLECTOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_SIZE = 160 };

/* Makes a file name of the text after the last slash. A dot at the start, spaces, and characters that are not
 * printable ASCII become '_'. If nothing follows the slash, the name is `otherwise`. Long names are cut. The name
 * ends with `ending`. */
void name_make_safe(const char *text, const char *otherwise, const char *ending, char name[NAME_SIZE]);

/* May the user give a job's folder this name (--job)? Spaces and letters of any language are allowed. */
bool name_is_plain(const char *text);

/* Is the text a name that name_make_safe could have made? */
bool name_is_safe(const char *text);

#endif
