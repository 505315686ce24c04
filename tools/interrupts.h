/* What a signal such as Ctrl-C leaves behind when it ends a command: no half-written file, and a terminal's line
 * that is empty. The command then dies of that signal, as without this. */
#ifndef WALLSHIM_TOOLS_INTERRUPTS_H
#define WALLSHIM_TOOLS_INTERRUPTS_H

#include <signal.h>

/* Signals that are ignored, as SIGHUP under nohup, stay so. */
void tool_interrupts_start(void);

/* The file, or the folder while it is empty, is removed if a signal comes; NULL: it is complete, or gone. At most
 * PATH_MAX bytes are kept. */
void tool_interrupts_file(const char *path);
void tool_interrupts_folder(const char *path);

/* Signals wait from the first to the second: while a file is made and noted. */
void tool_interrupts_hold(sigset_t *before);
void tool_interrupts_release(const sigset_t *before);

#endif
