/* One line at a time on stderr, each beginning with "wallshim: ". Used inside other people's programs: it never
 * allocates, never touches stdio, never waits, raises no signal and is no place where a thread is cancelled. A line
 * goes only to what stderr was at the start: a program may close that descriptor, and open a file of its own under
 * its number. Where it cannot go at once it is left out. */
#ifndef WALLSHIM_BASE_LOG_H
#define WALLSHIM_BASE_LOG_H

enum ws_log_level { WS_LOG_QUIET, WS_LOG_WARN, WS_LOG_DEBUG };

void ws_log_set_level(enum ws_log_level level);
enum ws_log_level ws_log_get_level(void);

/* Takes what stderr is now for what it was at the start. The first line does so where nobody has. */
void ws_log_start(void);

/* Lines are cut at 512 bytes, and shown as base/printable.h says. The newline is added. errno is left as it was. */
void ws_log(enum ws_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ws_warn(...) ws_log(WS_LOG_WARN, __VA_ARGS__)
#define ws_debug(...) ws_log(WS_LOG_DEBUG, __VA_ARGS__)

#endif
