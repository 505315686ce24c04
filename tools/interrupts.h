/* Cleans up when a signal such as Ctrl-C ends a command: removes half-written and temporary files and the progress
 * line. The command then dies of the signal as usual.
 */
#ifndef WALLSHIM_TOOLS_INTERRUPTS_H
#define WALLSHIM_TOOLS_INTERRUPTS_H

#include <signal.h>

/* Installs the signal handler. Signals that are ignored, such as SIGHUP under nohup, stay ignored. */
void tool_interrupts_start(void);

/* Names the file, or the folder, to remove when a signal comes; NULL: none. The folder is removed only if it is
 * empty. A path of PATH_MAX or more bytes is ignored. */
void tool_interrupts_file(const char *path);
void tool_interrupts_folder(const char *path);

/* Names a folder to remove, with its files, when a signal comes. The files are called 0 to count - 1. */
void tool_interrupts_scratch(const char *path, unsigned count);

/* tool_interrupts_hold blocks the signals, tool_interrupts_release unblocks them. Between these two calls a command
 * creates a file or folder and names it with the functions above, so that no signal leaves the file or folder
 * behind. */
void tool_interrupts_hold(sigset_t *before);
void tool_interrupts_release(const sigset_t *before);

#endif
