/* Recognizes files of other programs that cannot be read. */
#ifndef WALLSHIM_INPUT_OTHERS_H
#define WALLSHIM_INPUT_OTHERS_H

/* Says what the file is and what to do with it, from its name and first bytes. Returns NULL if unknown. */
const char *ws_others_say(const char *path);

#endif
