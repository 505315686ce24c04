/* Recognizes files of other programs that cannot be read. */
#ifndef WALLSHIM_INPUT_OTHERS_H
#define WALLSHIM_INPUT_OTHERS_H

/* Says what a file is and what to do with it, from its name and the first bytes of the file at `path`. Returns NULL
 * if unknown. */
const char *ws_others_say(const char *name, const char *path);

#endif
