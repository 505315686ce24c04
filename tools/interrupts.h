/* Cleans up when a signal such as Ctrl-C ends a command: removes half-written and temporary files and the progress
 * line. The command then dies of the signal as usual.
 */
#ifndef WALLSHIM_TOOLS_INTERRUPTS_H
#define WALLSHIM_TOOLS_INTERRUPTS_H

#include <signal.h>

/* Installs the signal handler. Signals that are ignored, such as SIGHUP under nohup, stay ignored. */
void tool_interrupts_start(void);

/* Sets the path of the file or folder that is removed when a signal comes; NULL: none. The folder is removed only if
 * it is empty. A path of PATH_MAX or more bytes is ignored. */
void tool_interrupts_file(const char *path);
void tool_interrupts_folder(const char *path);

/* Sets the path of a folder that is removed with its files when a signal comes. The folder has `count` files, with
 * the names 0, 1, 2 … */
void tool_interrupts_scratch(const char *path, unsigned count);

/* tool_interrupts_hold blocks the signals, tool_interrupts_release unblocks them. Between these two calls a command
 * creates a file or folder and passes its path to a function above, so that no signal leaves the file or folder
 * behind. */
void tool_interrupts_hold(sigset_t *before);
void tool_interrupts_release(const sigset_t *before);

#endif
