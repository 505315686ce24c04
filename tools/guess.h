/* Guesses the word that the user mistyped. */
#ifndef WALLSHIM_TOOLS_GUESS_H
#define WALLSHIM_TOOLS_GUESS_H

#include <stddef.h>

struct tool_guess {
    const char *typed;
    const char *best; /* the nearest word so far; NULL: no word is near */
    size_t distance;  /* edit distance between `typed` and `best` */
};

/* Compares a word. A word is near if few letters were left out, added or replaced, or if it begins with the typed
 * word. */
void tool_guess_try(struct tool_guess *guess, const char *word);

/* Writes a text such as "did you mean --top?" and returns it. `before` is put before the word, such as "--". If no
 * word is near, returns `otherwise`. */
const char *tool_guess_text(const struct tool_guess *guess, const char *before, const char *otherwise, char *text,
                            size_t capacity);

#endif
