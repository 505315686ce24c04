/* One line at a time on stderr, each beginning with "wallshim: ". Used inside other people's programs:
 * it never allocates, never touches stdio, and a stderr that is closed or gone is no error. */
#ifndef WALLSHIM_BASE_LOG_H
#define WALLSHIM_BASE_LOG_H

enum ws_log_level { WS_LOG_QUIET, WS_LOG_WARN, WS_LOG_DEBUG };

void ws_log_set_level(enum ws_log_level level);
enum ws_log_level ws_log_get_level(void);

/* Lines are cut at 512 bytes. The newline is added. errno is left as it was. */
void ws_log(enum ws_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ws_warn(...) ws_log(WS_LOG_WARN, __VA_ARGS__)
#define ws_debug(...) ws_log(WS_LOG_DEBUG, __VA_ARGS__)

#endif
