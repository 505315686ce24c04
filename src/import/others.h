/* Files of other programs that are not read. */
#ifndef WALLSHIM_IMPORT_OTHERS_H
#define WALLSHIM_IMPORT_OTHERS_H

/* What the file is and what to do with it, from its name and how it begins; NULL: not known. */
const char *ws_others_say(const char *path);

#endif
