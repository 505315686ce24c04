/* What a trace must not give away: values of arguments and environment variables that are secret by their name, and
 * the secrets within texts: name=value, "name": "value", headers, tokens after "Bearer", user:password@ of URLs. */
#ifndef WALLSHIM_SHIM_SECRETS_H
#define WALLSHIM_SHIM_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Is what carries this name not to be kept? more_words: further words that mark secrets, "WORD,WORD…". */
bool secrets_named(const char *name, size_t length, const char *more_words);

/* Appends text to `to`, each secret in it as "***". Returns the length of `to`, less than capacity: what does not fit
 * is left out. */
size_t secrets_append(char *to, size_t used, size_t capacity, const char *text, const char *more_words);

/* A command line, "argument" after "argument", each with its zero, as one text with spaces between. */
void secrets_command_line(char *to, size_t capacity, const char *arguments, size_t size, const char *more_words);

#endif
