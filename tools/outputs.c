#include "outputs.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "command.h"
#include "trace/reader.h"

static const char *default_name(void)
{
    for (size_t i = 0; i < ws_option_count; i++)
        if (!strcmp(ws_option_table[i].name, "output"))
            return ws_option_table[i].fallback;
    return "*.wst";
}

/* Makes the pattern for glob(3) that matches the traces of a given --output name. The pattern has '*' for each '%'
 * sequence, because only the shim (the library that records in the command) knows the text that will replace the
 * sequence. With `counted`, the pattern matches names such as "NAME-1.wst": the shim adds a counter if a file
 * NAME.wst exists. */
static char *pattern_of(const char *name, bool counted)
{
    static const char ending[] = ".wst", number[] = "-[0-9]*";
    size_t length = strlen(name), tail = sizeof(ending) - 1;
    const char *end = name + length - (length > tail && !strcmp(name + length - tail, ending) ? tail : 0);
    char *pattern = malloc(2 * length + sizeof(number)), *to = pattern;
    if (!pattern)
        return NULL;
    for (;; name++) {
        if (name == end && counted)
            to = stpcpy(to, number);
        if (!*name)
            break;
        if (*name == '%' && name[1] == '%') {
            *to++ = *name++;
        } else if (*name == '%' && name[1]) {
            *to++ = '*';
            name++;
        } else {
            if (strchr("*?[\\", *name))
                *to++ = '\\';
            *to++ = *name;
        }
    }
    *to = 0;
    return pattern;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const struct tool_outputs *outputs, char ***paths, size_t *count)
{
    glob_t found = { 0 };
    *paths = NULL;
    *count = 0;
    glob(outputs->pattern, 0, NULL, &found);
    glob(outputs->counted, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
    if (found.gl_pathc) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), by_name);
        *paths = calloc(found.gl_pathc, sizeof(**paths));
    }
    for (size_t i = 0; *paths && i < found.gl_pathc; i++) {
        if (*count && !strcmp((*paths)[*count - 1], found.gl_pathv[i])) /* the file matches both patterns */
            continue;
        (*paths)[*count] = strdup(found.gl_pathv[i]);
        *count += (*paths)[*count] != NULL;
    }
    globfree(&found);
}

/* Finds the folder for traces of this name. Sets `folder` to "" if its path has '%' sequences, which only the shim
 * can replace. */
static void folder_of(const char *name, char *folder, size_t capacity)
{
    const char *slash = strrchr(name, '/');
    snprintf(folder, capacity, "%.*s", slash ? (int)(slash - name) + (slash == name) : 1, slash ? name : ".");
    if (strchr(folder, '%'))
        *folder = 0;
}

/* Can a trace of this name be written? Without this check, the shim would report errors only at the command's first
 * CUDA call. And if a file of this name existed, the shim would add a counter to the name, which the user did not ask
 * for. */
static int check_name(const char *name)
{
    char folder[4096];
    for (const char *at = strchr(name, '%'); at; at = strchr(at + 2, '%'))
        if (!at[1] || !strchr("nphr%", at[1]))
            return tool_error("--output %s: a %% can be followed by n, p, h, r or %%", name);
    folder_of(name, folder, sizeof(folder));
    if (*folder && access(folder, F_OK))
        return tool_error("--output %s: %s: %s", name, folder, strerror(errno));
    if (*name && !strchr(name, '%') && !access(name, F_OK))
        return tool_error("%s: already exists; choose another name or remove it", name);
    return 0;
}

/* Makes a name for this run of `wallshim record`. The name is a random word. If this run is itself part of an outer
 * `wallshim record`, the name of the outer recording stands before the word. If the system gives no random numbers,
 * this recording has no name, and all new traces count as its traces. */
static int name_recording(struct tool_outputs *outputs)
{
    const char *around = getenv(WS_RECORDING);
    uint64_t word;
    if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != sizeof(word))
        return unsetenv(WS_RECORDING);
    if (!around || strlen(around) + 18 > sizeof(outputs->recording))
        around = "";
    snprintf(outputs->recording, sizeof(outputs->recording), "%s%s%016" PRIx64, around, *around ? "/" : "", word);
    return setenv(WS_RECORDING, outputs->recording, 1);
}

int tool_outputs_init(struct tool_outputs *outputs, const char *name)
{
    int status = check_name(name ? name : "");
    if (status)
        return status;
    name = name && *name ? name : default_name();
    *outputs = (struct tool_outputs){ .pattern = pattern_of(name, false), .counted = pattern_of(name, true) };
    folder_of(name, outputs->folder, sizeof(outputs->folder));
    if (!outputs->pattern || !outputs->counted || name_recording(outputs))
        return tool_error("out of memory");
    list(outputs, &outputs->before, &outputs->before_count);
    return 0;
}

static bool was_there(const struct tool_outputs *outputs, const char *path)
{
    for (size_t i = 0; i < outputs->before_count; i++)
        if (!strcmp(outputs->before[i], path))
            return true;
    return false;
}

/* Is `said` the name of this recording, or of a recording nested in it? The name of a nested recording begins with
 * the name of the outer recording. */
static bool outputs_is_ours(const char *recording, const struct ws_text *said)
{
    size_t length = strlen(recording);
    return said->length >= length && !memcmp(said->data, recording, length) &&
           (said->length == length || said->data[length] == '/');
}

/* How many blocks of a trace are read at most to find the name of its recording. The name is near the start of the
 * trace. */
enum { LOOKED_AT = 64 };

/* Does the trace belong to another recording, or hold nothing yet? A trace that holds nothing yet must belong to
 * another recording, because the traces of this recording are complete by now. A trace without the name of a
 * recording counts as a trace of this recording, because older shims wrote no name. */
static bool is_of_others(const char *path, const char *recording)
{
    static const char key[] = "recording";
    struct ws_reader *reader;
    struct ws_block block;
    bool any = false, others = false;
    if (!*recording || ws_reader_open(&reader, path, NULL, 0))
        return false;
    for (int i = 0; i < LOOKED_AT && !others && ws_reader_next(reader, &block) > 0; i++) {
        const struct ws_meta *rows = block.rows;
        any = true;
        for (uint32_t row = 0; block.family == WS_FAMILY_meta && row < block.count; row++)
            others |= rows[row].key.length == strlen(key) && !memcmp(rows[row].key.data, key, strlen(key)) &&
                      !outputs_is_ours(recording, &rows[row].value);
    }
    ws_reader_close(reader);
    return others || !any;
}

size_t tool_outputs_find_new(struct tool_outputs *outputs)
{
    size_t kept = 0;
    list(outputs, &outputs->paths, &outputs->count);
    for (size_t i = 0; i < outputs->count; i++) {
        if (was_there(outputs, outputs->paths[i]) || is_of_others(outputs->paths[i], outputs->recording))
            free(outputs->paths[i]);
        else
            outputs->paths[kept++] = outputs->paths[i];
    }
    outputs->count = kept;
    return kept;
}

int tool_outputs_hindrance(const struct tool_outputs *outputs)
{
    return *outputs->folder && access(outputs->folder, W_OK | X_OK) ? errno : 0;
}

void tool_outputs_finish(struct tool_outputs *outputs)
{
    for (size_t i = 0; i < outputs->before_count; i++)
        free(outputs->before[i]);
    for (size_t i = 0; i < outputs->count; i++)
        free(outputs->paths[i]);
    free(outputs->before);
    free(outputs->paths);
    free(outputs->pattern);
    free(outputs->counted);
}
