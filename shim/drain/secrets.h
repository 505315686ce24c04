/* Secrets that must not be in a trace: values of arguments and environment variables with the name of a secret; and
 * secrets within texts: name=value, "name": "value", headers, tokens after "Bearer", user:password@ of URLs. */
#ifndef WALLSHIM_SHIM_DRAIN_SECRETS_H
#define WALLSHIM_SHIM_DRAIN_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Is this the name of a secret? more_words: further words of such names, "WORD,WORD…". */
bool secrets_named(const char *name, size_t length, const char *more_words);

/* Appends text to `to`, each secret in it as "***". Returns the length of `to`, less than capacity: the rest is left
 * out. */
size_t secrets_append(char *to, size_t used, size_t capacity, const char *text, const char *more_words);

/* A command line, whose arguments end in a zero each, as one text with spaces between. */
void secrets_command_line(char *to, size_t capacity, const char *arguments, size_t size, const char *more_words);

#endif
