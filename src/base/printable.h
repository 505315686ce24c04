/* Texts of others on a terminal: file names, host names, command lines, kernels. What a terminal would act on, what
 * turns the direction of a line, and what takes no room in it is not shown as it is. */
#ifndef WALLSHIM_BASE_PRINTABLE_H
#define WALLSHIM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at text, which ends in a zero, and its number in *code, unless that is
 * NULL. 0: there is none. */
size_t ws_character(const char *text, uint32_t *code);

/* Not so: control characters, also those of 0x80 to 0x9f; marks and overrides of direction; separators of lines; what
 * has no width. */
bool ws_is_printable(uint32_t code);

/* In place, '?' for each character that is not printable and for each byte that is part of none. */
void ws_make_printable(char *text);

/* The character as JSON writes it without showing it: "\u202e", of two halves beyond 0xffff. */
enum { WS_JSON_ESCAPE = 13 };
void ws_json_escape(char escape[WS_JSON_ESCAPE], uint32_t code);

#endif
