#include "model/source_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"
#include "base/printable.h"

enum { LARGEST_FILE = 4 << 20 };

static bool is_source_file(const char *path)
{
    static const char *const ends[] = { ".py", ".pyx", ".c", ".cc", ".cpp", ".cxx",
                                        ".cu", ".cuh", ".h", ".hh", ".hpp", ".rs" };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && *path == '/' && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (!strcmp(dot, ends[i]))
            return true;
    return false;
}

/* Has the file changed after the recording began? Returns false if the trace does not tell when the recording
 * began. */
static bool is_newer(const struct ws_process *process, const struct stat *status)
{
    const char *start = ws_process_meta(process, "start_realtime_ns");
    long long began = start ? strtoll(start, NULL, 10) : 0;
    const long long second = 1000000000;
    return began > 0 && (status->st_mtim.tv_sec > began / second ||
                         (status->st_mtim.tv_sec == began / second && status->st_mtim.tv_nsec > began % second));
}

/* Opens a source file, or returns NULL if the path is not a regular file. The path may be that of a pipe or a device,
 * so opening must not block. */
static FILE *open_source(const struct ws_process *process, const char *path)
{
    struct stat status;
    int file = is_source_file(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (file < 0)
        return NULL;
    bool fits = !fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size <= LARGEST_FILE &&
                !is_newer(process, &status);
    FILE *opened = fits ? fdopen(file, "r") : NULL;
    if (!opened)
        close(file);
    return opened;
}

/* Copies the line without leading and trailing spaces. Cuts a long line between two UTF-8 characters. */
static void copy_line(char text[WS_SOURCE_CODE], const char *line, size_t length)
{
    static const char more[] = "…";
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r' || line[length - 1] == ' ' ||
                      line[length - 1] == '\t'))
        length--;
    while (length && (*line == ' ' || *line == '\t'))
        line++, length--;
    size_t most = WS_SOURCE_CODE - sizeof(more), kept = ws_min(length, most);
    while (kept < length && kept && ((unsigned char)line[kept] & 0xc0) == 0x80)
        kept--;
    for (size_t i = 0; i < kept; i++)
        text[i] = (char)(line[i] == '\t' || !line[i] ? ' ' : line[i]);
    snprintf(text + kept, WS_SOURCE_CODE - kept, "%s", kept < length ? more : "");
    ws_make_printable(text);
}

bool ws_source_code_at(const struct ws_process *process, const char *path, uint32_t number, char text[WS_SOURCE_CODE])
{
    FILE *file = number ? open_source(process, path) : NULL;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    *text = 0;
    if (!file)
        return false;
    for (uint32_t at = 0; at < number && length >= 0; at++)
        length = getline(&line, &capacity, file);
    if (length > 0)
        copy_line(text, line, (size_t)length);
    free(line);
    fclose(file);
    return *text != 0;
}

bool ws_source_code(const struct ws_process *process, struct ws_source source, char text[WS_SOURCE_CODE])
{
    char path[4096];
    uint32_t line;
    *text = 0;
    return ws_source_place(process, source, path, sizeof(path), &line) &&
           ws_source_code_at(process, path, line, text);
}

bool ws_source_code_of_op(const struct ws_process *process, size_t op, char text[WS_SOURCE_CODE])
{
    return ws_source_code(process, ws_source_find_op(process, op), text);
}
