/* Cleans up when a signal such as Ctrl-C ends a command: removes a half-written file and the progress line. The
 * command then dies of the signal as usual.
 */
#ifndef WALLSHIM_TOOLS_INTERRUPTS_H
#define WALLSHIM_TOOLS_INTERRUPTS_H

#include <signal.h>

/* Signals that are ignored, such as SIGHUP under nohup, stay ignored. */
void tool_interrupts_start(void);

/* Names the file, or the still empty folder, to remove when a signal comes; NULL: none. The path may have up to
 * PATH_MAX bytes. */
void tool_interrupts_file(const char *path);
void tool_interrupts_folder(const char *path);

/* Signals are held between the first call and the second, while a file or folder is created and noted. */
void tool_interrupts_hold(sigset_t *before);
void tool_interrupts_release(const sigset_t *before);

#endif
