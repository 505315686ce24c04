#include "guess.h"

#include <stdio.h>
#include <string.h>

#include "check/find.h"

void tool_guess_try(struct tool_guess *guess, const char *word)
{
    size_t typed = strlen(guess->typed), distance = ws_edit_distance(guess->typed, word);
    if (typed > 1 && !strncmp(guess->typed, word, typed)) /* the user typed only the start of the word */
        distance = 1;
    if (ws_is_near(distance, typed) && (!guess->best || distance < guess->distance)) {
        guess->best = word;
        guess->distance = distance;
    }
}

const char *tool_guess_text(const struct tool_guess *guess, const char *before, const char *otherwise, char *text,
                            size_t capacity)
{
    if (!guess->best)
        return otherwise;
    snprintf(text, capacity, "did you mean %s%s?", before, guess->best);
    return text;
}
