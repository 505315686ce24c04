#include "traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/source.h"
#include "killed.h"
#include "scratch.h"
#include "unpack.h"

/* Adds a trace. Takes ownership of both strings, also on failure. If `file` is NULL, the file to open is `path`. */
static int traces_keep(struct tool_traces *traces, char *path, char *file, bool found)
{
    size_t size = (traces->count + 1) * sizeof(char *);
    char **paths = realloc(traces->paths, size);
    traces->paths = paths ? paths : traces->paths;
    char **files = realloc(traces->files, size);
    traces->files = files ? files : traces->files;
    bool *marks = realloc(traces->found, (traces->count + 1) * sizeof(*marks));
    traces->found = marks ? marks : traces->found;
    file = file || !path ? file : strdup(path);
    if (!paths || !files || !marks || !path || !file) {
        free(path);
        free(file);
        return tool_error("out of memory");
    }
    paths[traces->count] = path;
    files[traces->count] = file;
    marks[traces->count++] = found;
    return 0;
}

/* Like traces_keep. But first completes the trace of a program that was killed (killed.h), or turns a Perfetto trace
 * into JSON. */
static int traces_take(struct tool_traces *traces, char *path, char *file, bool found)
{
    char *json;
    const char *at = file ? file : path;
    if (at && ws_source_kind_of_file(at) == WS_SOURCE_OWN)
        tool_complete_killed(at);
    if (!at || ws_source_kind_of_file(at) != WS_SOURCE_PERFETTO)
        return traces_keep(traces, path, file, found);
    int status = tool_unpack_perfetto(path, at, &json);
    tool_scratch_remove(file);
    if (!status)
        return traces_keep(traces, path, json, found);
    free(path);
    return status;
}

/* Adds a single packed trace, or the traces in an archive. In an archive, as in a folder, wallshim's own traces are
 * added; if there are none, those of other profilers. */
static int add_packed(struct tool_traces *traces, const char *path, const char *file, bool found)
{
    struct ws_vector unpacked = WS_VECTOR(struct tool_unpacked);
    bool archive, own = false;
    size_t before = traces->count;
    int status = tool_unpack(path, file, &unpacked, &archive);
    struct tool_unpacked *list = unpacked.data;
    for (size_t i = 0; i < unpacked.count && !own; i++)
        own = ws_source_kind_of_file(list[i].path) == WS_SOURCE_OWN;
    size_t passed_over = 0;
    for (size_t i = 0; i < unpacked.count && !status; i++) {
        if (own && ws_source_kind_of_file(list[i].path) != WS_SOURCE_OWN) {
            passed_over++;
            continue;
        }
        status = traces_take(traces, list[i].name, list[i].path, found || archive);
        list[i] = (struct tool_unpacked){ 0 };
        if (status && archive)
            status = 0; /* a line on stderr has said why this member is left out */
    }
    if (!status && traces->count == before)
        status = tool_error("%s: no trace in it can be read", path);
    if (passed_over)
        tool_say("%s: reading wallshim's own traces there, not %zu of other profilers", path, passed_over);
    tool_unpacked_finish(&unpacked);
    return status;
}

/* Copies the content of an open file, such as a pipe, and adds the traces in it. */
static int add_copied(struct tool_traces *traces, int from, const char *path, bool found)
{
    char *file;
    int status = tool_copy(from, path, &file);
    if (status)
        return status;
    if (ws_source_kind_of_file(file) != WS_SOURCE_PACKED)
        return traces_take(traces, strdup(path), file, found);
    status = add_packed(traces, path, file, found);
    tool_scratch_remove(file);
    return status;
}

/* Adds a path that is not a folder: a plain file, a packed file or a pipe. */
static int traces_add(struct tool_traces *traces, const char *path, bool found)
{
    struct stat about;
    bool known = !stat(path, &about);
    if (known && S_ISREG(about.st_mode) && ws_source_kind_of_file(path) == WS_SOURCE_PACKED)
        return add_packed(traces, path, path, found);
    if (!known || found || !(S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)))
        return traces_take(traces, strdup(path), NULL, found);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return tool_error("%s: cannot be read: %s", path, strerror(errno));
    int status = add_copied(traces, from, path, found);
    close(from);
    return status;
}

static int add_standard_input(struct tool_traces *traces)
{
    if (isatty(STDIN_FILENO))
        return tool_error("-: standard input is a terminal; pipe a trace into it, or name a file");
    return add_copied(traces, STDIN_FILENO, "standard input", false);
}

static bool traces_ends_with(const char *name, size_t length, const char *end)
{
    size_t part = strlen(end);
    return length > part && !memcmp(name + length - part, end, part);
}

/* Returns the length of a file name without the ending that a packer, such as gzip, has added. */
static size_t packed_length(const char *name)
{
    static const char *const packers[] = { ".gz", ".zst", ".xz", ".bz2" };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++)
        if (traces_ends_with(name, length, packers[i]))
            return length - strlen(packers[i]);
    return length;
}

static int is_trace(const struct dirent *entry)
{
    return traces_ends_with(entry->d_name, packed_length(entry->d_name), ".wst");
}

/* Does the file name look like another profiler's trace? */
static int is_foreign_trace(const struct dirent *entry)
{
    size_t length = packed_length(entry->d_name);
    if (!strcmp(entry->d_name, "manifest.json")) /* a collector writes this file beside its traces */
        return 0;
    return traces_ends_with(entry->d_name, length, ".json") || traces_ends_with(entry->d_name, length, ".sqlite") ||
           traces_ends_with(entry->d_name, length, ".pftrace");
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
        tool_say("%s: reading the *.wst there, not the %d *.json, *.pftrace and *.sqlite", folder, count);
}

/* Adds a file of a folder. Leaves the file out if it cannot be read, and says so on stderr. */
static int add_found(struct tool_traces *traces, const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return tool_error("out of memory");
    if (traces_add(traces, path, true))
        tool_say("left out: %s", path);
    free(path);
    return 0;
}

/* Does this folder hold folders of jobs? If so, prints some of them, so that the user can give the command one of
 * them in place of this folder. */
static bool is_folder_of_jobs(const char *folder)
{
    enum { NAMED = 8 };
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), jobs = 0;
    for (int i = 0; i < count; i++) {
        char *path;
        bool known =
            *entries[i]->d_name != '.' && asprintf(&path, "%s/%s/manifest.json", folder, entries[i]->d_name) >= 0;
        bool is_job = known && !access(path, F_OK);
        if (is_job && jobs++ == 0)
            tool_say("%s: this folder holds jobs; name one of these", folder);
        if (is_job && jobs <= NAMED)
            tool_say("  %s/%s", folder, entries[i]->d_name);
        if (known)
            free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (jobs > NAMED)
        tool_say("  and %d more", jobs - NAMED);
    return jobs;
}

static int add_folder(struct tool_traces *traces, const char *folder)
{
    struct dirent **entries;
    size_t before = traces->count;
    int count = scandir(folder, &entries, is_trace, alphasort), status = 0;
    /* Files of other profilers are read only if the folder has no *.wst, because the *.wst may have been made from
     * these files by `wallshim import`. */
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
            status = add_found(traces, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (!status && !count && is_folder_of_jobs(folder))
        return TOOL_ERROR;
    if (!status && !count)
        return tool_error(
            "%s: no trace (*.wst, *.json, *.sqlite, *.pftrace, or packed as *.gz, *.zst) in this folder%s", folder,
            traces_ends_with(folder, strlen(folder), "_pqtdir") || traces_ends_with(folder, strlen(folder), "_arwdir")
                ? "; only SQLite exports of Nsight Systems can be read: nsys export --type sqlite"
                : "");
    if (!status && traces->count == before)
        return tool_error("%s: none of the %d traces in this folder can be read", folder, count);
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
    return traces_add(traces, newest, false);
}

static int add_path(struct tool_traces *traces, const char *path)
{
    struct stat file;
    if (!strcmp(path, "-"))
        return add_standard_input(traces);
    return !stat(path, &file) && S_ISDIR(file.st_mode) ? add_folder(traces, path) : traces_add(traces, path, false);
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
        return tool_error("%s: takes one trace; this holds several", arguments->operands[0]);
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
    for (size_t i = 0; i < traces->count; i++) {
        free(traces->paths[i]);
        free(traces->files[i]);
    }
    free(traces->paths);
    free(traces->files);
    free(traces->found);
    *traces = (struct tool_traces){ 0 };
}
