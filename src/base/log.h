/* Messages on stderr, each one line that begins with "wallshim: ". Logging is safe inside other people's programs: it
 * allocates nothing, uses no stdio stream, never waits, raises no signal and is not a cancellation point. A message
 * that cannot be written at once is dropped. A message is also dropped if stderr is no longer the same file as at the
 * start: the program may have closed stderr and opened a file of its own as descriptor 2. */
#ifndef WALLSHIM_BASE_LOG_H
#define WALLSHIM_BASE_LOG_H

enum ws_log_level { WS_LOG_QUIET, WS_LOG_WARN, WS_LOG_DEBUG };

void ws_log_set_level(enum ws_log_level level);

/* Remembers which file stderr is, so that later messages notice if the program has replaced it. If this function was
 * not called before, the first message calls it. */
void ws_log_start(void);

/* Writes one line: cut at 512 bytes, made safe for a terminal (base/printable.h), with the newline added. Keeps
 * errno. */
void ws_log(enum ws_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ws_warn(...) ws_log(WS_LOG_WARN, __VA_ARGS__)
#define ws_debug(...) ws_log(WS_LOG_DEBUG, __VA_ARGS__)

#endif
