/* Reads the text of a line of the program's source, if the source file is on this machine. */
#ifndef WALLSHIM_MODEL_SOURCE_CODE_H
#define WALLSHIM_MODEL_SOURCE_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/source_line.h"

/* Maximum bytes of a source line as reports show it, with the final 0. */
enum { WS_SOURCE_CODE = 84 };

/* Writes the source line of a place, without leading and trailing spaces. If ws_source_text names several lines for
 * the place, writes the last of them. Long lines are cut, and characters that a terminal cannot print are replaced.
 *
 * A trace may name any file. So the path must be absolute and have the ending of a source file. The file must be a
 * regular file of at most 4 MiB. It must not have changed after the recording began, if that time is known. If one of
 * these conditions fails, or the file has no such line, writes an empty text and returns false. */
bool ws_source_code(const struct ws_process *process, struct ws_source source, char text[WS_SOURCE_CODE]);

/* Like ws_source_code, for a line of a file. */
bool ws_source_code_at(const struct ws_process *process, const char *path, uint32_t line, char text[WS_SOURCE_CODE]);

/* Like ws_source_code, for the place that launched an operation (ws_source_find_op). */
bool ws_source_code_of_op(const struct ws_process *process, size_t op, char text[WS_SOURCE_CODE]);

#endif
