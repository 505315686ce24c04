#include "traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int traces_add(struct tool_traces *traces, const char *folder, const char *name)
{
    char **paths = realloc(traces->paths, (traces->count + 1) * sizeof(*paths));
    traces->paths = paths ? paths : traces->paths;
    bool *found = realloc(traces->found, (traces->count + 1) * sizeof(*found));
    traces->found = found ? found : traces->found;
    if (!paths || !found)
        return tool_error("out of memory");
    found[traces->count] = folder;
    if ((folder ? asprintf(&paths[traces->count], "%s/%s", folder, name)
                : asprintf(&paths[traces->count], "%s", name)) < 0)
        return tool_error("out of memory");
    traces->count++;
    return 0;
}

static bool traces_ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), part = strlen(end);
    return length > part && !strcmp(name + length - part, end);
}

static int is_trace(const struct dirent *entry)
{
    return traces_ends_with(entry->d_name, ".wst");
}

/* Does the file name look like another profiler's trace? */
static int is_foreign_trace(const struct dirent *entry)
{
    return traces_ends_with(entry->d_name, ".json") || traces_ends_with(entry->d_name, ".json.gz") ||
           traces_ends_with(entry->d_name, ".sqlite");
}

/* Tells the user how many files of other profilers are not read. */
static void note_foreign(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_foreign_trace, alphasort);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    if (count > 0)
        tool_say("%s: reading the *.wst there, not the %d *.json, *.json.gz and *.sqlite", folder, count);
}

static int add_folder(struct tool_traces *traces, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_trace, alphasort), status = 0;
    /* Files of other profilers are read only if there are no traces of ours, because ours may have been imported
     * from these files. */
    if (!count) {
        free(entries);
        count = scandir(folder, &entries, is_foreign_trace, alphasort);
    } else {
        note_foreign(folder);
    }
    if (count < 0)
        return tool_error("%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (!status)
            status = traces_add(traces, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (!status && !count)
        return tool_error("%s: no trace (*.wst, *.json, *.json.gz, *.sqlite) in this folder%s", folder,
                          traces_ends_with(folder, "_pqtdir") || traces_ends_with(folder, "_arwdir")
                              ? "; only SQLite exports of Nsight Systems can be read: nsys export --type sqlite"
                              : "");
    return status;
}

static bool newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static int add_newest(struct tool_traces *traces)
{
    struct dirent **entries;
    struct timespec best = { 0 };
    struct stat file;
    char newest[256] = "";
    int count = scandir(".", &entries, is_trace, alphasort);
    if (count < 0)
        return tool_error("the current folder cannot be read: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (!stat(entries[i]->d_name, &file) && (!*newest || newer(&file.st_mtim, &best))) {
            best = file.st_mtim;
            snprintf(newest, sizeof(newest), "%s", entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    if (!*newest)
        return tool_error(
            "no trace (*.wst) in the current folder; record one with: wallshim record -- COMMAND, or name "
            "another profiler's");
    tool_say("reading %s, the newest trace here", newest);
    return traces_add(traces, NULL, newest);
}

static int add_path(struct tool_traces *traces, const char *path)
{
    struct stat file;
    return !stat(path, &file) && S_ISDIR(file.st_mode) ? add_folder(traces, path) : traces_add(traces, NULL, path);
}

int tool_find_traces(struct tool_traces *traces, const struct tool_arguments *arguments)
{
    *traces = (struct tool_traces){ 0 };
    int status = arguments->operand_count ? 0 : add_newest(traces);
    for (size_t i = 0; i < arguments->operand_count && !status; i++)
        status = add_path(traces, arguments->operands[i]);
    if (status)
        tool_traces_finish(traces);
    return status;
}

int tool_find_traces_at(struct tool_traces *traces, const char *path)
{
    *traces = (struct tool_traces){ 0 };
    int status = add_path(traces, path);
    if (status)
        tool_traces_finish(traces);
    return status;
}

int tool_find_trace(struct tool_traces *traces, const struct tool_arguments *arguments)
{
    if (arguments->operand_count > 1)
        return tool_error("%s: takes one trace, not %zu", arguments->command->name, arguments->operand_count);
    int status = tool_find_traces(traces, arguments);
    if (!status && traces->count > 1) {
        tool_traces_finish(traces);
        return tool_error("%s: takes one trace; this folder holds several", arguments->operands[0]);
    }
    return status;
}

bool tool_trace_left_out(const struct tool_traces *traces, size_t index, const char *why)
{
    if (!traces->found[index] || traces->count == 1)
        return false;
    tool_say("left out: %s", why);
    return true;
}

void tool_traces_finish(struct tool_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++)
        free(traces->paths[i]);
    free(traces->paths);
    free(traces->found);
    *traces = (struct tool_traces){ 0 };
}
