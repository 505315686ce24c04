/* Makes foreign texts safe to print on a terminal: file names, host names, command lines, kernel names. Characters
 * that control the terminal, change the text direction or have no width are replaced. */
#ifndef WALLSHIM_BASE_PRINTABLE_H
#define WALLSHIM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length in bytes of the first UTF-8 character of text, or 0 if text is empty or begins with invalid
 * UTF-8. text ends with a zero byte. Stores the code point in *code unless code is NULL. */
size_t ws_character(const char *text, uint32_t *code);

/* Returns false for control characters (also 0x80 to 0x9f), direction marks and overrides, line separators and
 * characters without width. */
bool ws_is_printable(uint32_t code);

/* Replaces each character that is not printable, and each byte that is not UTF-8, by '?', in place. */
void ws_make_printable(char *text);

/* Room for the longest JSON escape of a character and a zero byte. An escape looks like "\u202e". A code point above
 * 0xffff takes two escapes, a surrogate pair. */
enum { WS_JSON_ESCAPE = 13 };
void ws_json_escape(char escape[WS_JSON_ESCAPE], uint32_t code);

#endif
