/* Recognizes files of other programs that wallshim cannot read. */
#ifndef WALLSHIM_INPUT_OTHERS_H
#define WALLSHIM_INPUT_OTHERS_H

/* Returns a text that says what a file is and what to do with it. Judges by `name` and by the first bytes of the file
 * at `path`. Returns NULL if the file is unknown. */
const char *ws_others_say(const char *name, const char *path);

#endif
