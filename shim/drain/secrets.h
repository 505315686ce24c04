/* Secrets that must not get into a trace. A value is secret if the name of its argument or environment variable
 * contains a word such as "PASSWORD". Secrets are also found inside texts: name=value, "name": "value", HTTP headers,
 * tokens after "Bearer", user:password@ in URLs. */
#ifndef WALLSHIM_SHIM_DRAIN_SECRETS_H
#define WALLSHIM_SHIM_DRAIN_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Is this the name of a secret? more_words: further words that make a name secret, "WORD,WORD…". */
bool secrets_named(const char *name, size_t length, const char *more_words);

/* Appends the text to `to`, with "***" for each secret. Text that does not fit is left out. Returns the new length of
 * `to`, which is less than capacity. */
size_t secrets_append(char *to, size_t used, size_t capacity, const char *text, const char *more_words);

/* Writes the arguments of a command line as one text with spaces between them, and hides secrets. arguments:
 * zero-terminated texts, one after the other; size: their bytes together. */
void secrets_command_line(char *to, size_t capacity, const char *arguments, size_t size, const char *more_words);

#endif
