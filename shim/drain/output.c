#include "shim/drain/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "shim/drain/compression.h"
#include "shim/drain/describe.h"
#include "shim/drain/file_thread.h"
#include "shim/drain/trace_name.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"
#include "shim/state/program.h"
#include "wire/frame.h"

enum { NAMES_TRIED = 1000 };

/* --- the name ---------------------------------------------------------------------------------- */

/* The process's rank, from an environment variable that the program's launcher sets: torchrun, Open MPI, MPICH and
 * Intel MPI, or Slurm. */
static char rank[64] = "0";
static bool rank_is_known;

static void keep_rank(void)
{
    static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = secure_getenv(variables[i]);
        if (value) {
            snprintf(rank, sizeof(rank), "%s", value);
            rank_is_known = true;
            return;
        }
    }
}

static bool choose_name(char *path, size_t capacity)
{
    struct utsname host;
    struct trace_name_parts parts = {
        .program = program_name(), .host = uname(&host) ? "host" : host.nodename, .rank = rank, .pid = (int)getpid()
    };
    return trace_name_expand(shim_options.output, &parts, path, capacity);
}

void output_say(struct output *output, const char *key, const char *value)
{
    struct ws_meta row = { .key = { key, (uint32_t)strlen(key) }, .value = { value, (uint32_t)strlen(value) } };
    ws_encoder_add(output->encoder, WS_FAMILY_meta, &row);
}

/* --- opening and closing ----------------------------------------------------------------------- */

/* Relative names are relative to the program's current directory, which may change before the drain opens the
 * file. */
static bool make_absolute(char *path, size_t capacity)
{
    char folder[4096];
    size_t length = strlen(path);
    if (*path == '/')
        return true;
    if (!getcwd(folder, sizeof(folder)))
        return false;
    size_t more = strlen(folder) + 1;
    if (length + more >= capacity)
        return false;
    memmove(path + more, path, length + 1);
    memcpy(path, folder, more - 1);
    path[more - 1] = '/';
    return true;
}

/* Uses statx, because the symbols of stat differ between versions of glibc. */
static bool is_file(const char *path)
{
    struct statx found;
    return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) && S_ISREG(found.stx_mode);
}

/* Creates the trace's file. If a regular file of this name exists already, tries other names, because a name with a
 * process id may repeat, above all in containers. If something else has this name (such as /dev/null), no other name
 * is tried. */
static int create_file(void *data)
{
    struct output *output = data;
    static char wanted[sizeof(output->path)];
    memcpy(wanted, output->path, sizeof(wanted));
    for (unsigned attempt = 0; attempt < NAMES_TRIED; attempt++) {
        if (!trace_name_next(wanted, attempt, output->path, sizeof(output->path)))
            return -ENAMETOOLONG;
        int error = ws_file_sink_open(&output->file, output->path);
        if (error != -EEXIST || !is_file(output->path))
            return error;
    }
    return -EEXIST;
}

int output_create(struct output *output)
{
    keep_rank();
    if (!choose_name(output->path, sizeof(output->path)) || !make_absolute(output->path, sizeof(output->path)))
        return -ENAMETOOLONG;
    if (link_init(&output->link, shim_options.collector, shim_options.collector_buffer)) {
        ws_warn("WALLSHIM_COLLECTOR: this path is too long for a socket; the trace goes to a file");
        *output->link.path = 0;
    }
    describe_keep_environment();
    return 0;
}

const char *output_place(const struct output *output)
{
    return output->collected ? output->link.path : output->path;
}

/* --- writing, in the file thread --------------------------------------------------------------- */

static void begin_live(struct output *output)
{
    if (shim_options.salvage && file_thread_has_table() && is_file(output->path))
        live_file_begin(&output->live, output->path);
}

static void end_live(struct output *output)
{
    live_end();
    live_file_end(&output->live);
}

static int begin_writing(void *data)
{
    struct output *output = data;
    output->live.fd = -1;
    output->given = false;
    int refused = *output->link.path ? link_start(&output->link, rank_is_known ? rank : "", output->path) : -ENOENT;
    output->broken = 0;
    output->collected = !refused;
    if (!refused)
        return 0;
    int error = output->broken = create_file(output);
    if (!error)
        begin_live(output);
    if (!error && output->link.refused)
        link_say(&output->link, "the collector at %s refuses this trace: %s; the trace goes to %s", output->link.path,
                 ws_channel_reason_text(output->link.reason), output->path);
    else if (!error && *output->link.path)
        link_say(&output->link, "no collector at %s: %s; the trace goes to %s", output->link.path, strerror(-refused),
                 output->path);
    return error;
}

/* Closes the trace's file and removes it. If another process has opened the file and passed it to the shim (`given`),
 * that process removes the file itself. */
static void remove_file(struct output *output)
{
    ws_file_sink_close(&output->file);
    if (!output->given && is_file(output->path))
        unlink(output->path);
}

/* Writes the trace into a file, and no longer to the collector. Called if the collector has taken nothing, so the
 * whole trace is still in the link's buffer. If the buffer cannot be written to the file, later parts of the trace
 * are lost, too: without the file's header they would be of no use. */
static int change_to_file(struct output *output)
{
    struct collector_link *link = &output->link;
    bool whole = !link->begin && link->end <= link->capacity;
    int error = whole ? create_file(output) : -EINVAL;
    bool created = whole && !error;
    if (created)
        error = ws_file_sink_write(&output->file, link->kept, link->end);
    if (created && error)
        remove_file(output);
    link_say(link, "the collector at %s %s%s; the trace goes to %s%s%s", link->path,
             link->refused ? "refuses this trace: " : "does not answer",
             link->refused ? ws_channel_reason_text(link->reason) : "", output->path, error ? ": " : "",
             error ? strerror(-error) : "");
    live_leave(!error && is_file(output->path));
    link_end(link);
    output->collected = false;
    output->broken = error;
    return error;
}

struct given {
    struct output *output;
    int file;
};

static int begin_given(void *data)
{
    const struct given *given = data;
    struct output *output = given->output;
    output->live.fd = -1;
    output->collected = false;
    output->given = true;
    return output->broken = ws_file_sink_adopt(&output->file, given->file, output->path);
}

struct write {
    struct output *output;
    const void *bytes;
    size_t size;
};

static int write_bytes(void *data)
{
    const struct write *write = data;
    struct output *output = write->output;
    if (output->broken)
        return output->broken;
    if (output->link.state == LINK_UNUSED)
        return ws_file_sink_write(&output->file, write->bytes, write->size);
    int status = link_write(&output->link, write->bytes, write->size);
    if (link_is_hopeless(&output->link, false)) {
        int error = change_to_file(output);
        status = status ? status : error;
    }
    return status;
}

static int stop_writing(void *data)
{
    struct output *output = data;
    end_live(output);
    if (output->broken)
        return output->broken;
    if (output->link.state == LINK_UNUSED)
        return ws_file_sink_close(&output->file);
    int status = link_finish(&output->link);
    if (link_is_hopeless(&output->link, true)) {
        int error = change_to_file(output);
        return error ? error : ws_file_sink_close(&output->file);
    }
    link_end(&output->link);
    return status;
}

/* Undoes begin_writing or begin_given. Called before any row was written. */
static int abandon(void *data)
{
    struct output *output = data;
    end_live(output);
    if (output->link.state != LINK_UNUSED)
        link_end(&output->link);
    else if (!output->broken)
        remove_file(output);
    return 0;
}

static int write_rows(void *data)
{
    struct output *output = data;
    link_keep(&output->link);
    live_grow(output->live.fd);
    return ws_encoder_flush(output->encoder);
}

static int write_end(void *data)
{
    struct output *output = data;
    int error = ws_encoder_finish(output->encoder), stop_error = stop_writing(output);
    /* If stop_writing returned -ECONNABORTED, it has left a message about the bytes that the collector lacks. In this
     * case -ECONNABORTED is returned even if ws_encoder_finish failed, too: the caller prints no second warning for
     * -ECONNABORTED. */
    return error && stop_error != -ECONNABORTED ? error : stop_error;
}

/* --- for the drain ----------------------------------------------------------------------------- */

/* Makes the file thread run work(data), and prints the message that `work` has left in link.message: the file thread
 * has no stderr. */
static int work_and_say(struct output *output, int (*work)(void *), void *data)
{
    int status = file_thread_do(work, data);
    if (*output->link.message)
        ws_warn("%s", output->link.message);
    *output->link.message = 0;
    return status;
}

/* The encoder's write function (ws_sink_write). The file thread does the writing. */
static int write_out(void *sink, const void *bytes, size_t size)
{
    struct write write = { .output = sink, .bytes = bytes, .size = size };
    struct ws_file_header header;
    if (size == WS_FILE_HEADER_SIZE && !ws_file_header_read(bytes, &header))
        live_is_of(header.file_id);
    return file_thread_do(write_bytes, &write);
}

static int begin_by(struct output *output, int (*begin)(void *data), void *data)
{
    struct ws_encoder_options options = { .compressor = compression(), .write = write_out, .sink = output };
    file_thread_start();
    int error = work_and_say(output, begin, data);
    if (!error && (error = ws_encoder_create(&output->encoder, &options)))
        file_thread_do(abandon, output);
    if (error)
        file_thread_end();
    else
        describe_program(output, rank);
    return error;
}

int output_begin(struct output *output)
{
    return begin_by(output, begin_writing, output);
}

int output_begin_in(struct output *output, int file, const char *name)
{
    struct given given = { output, file };
    snprintf(output->path, sizeof(output->path), "%s", name);
    return begin_by(output, begin_given, &given);
}

int output_flush(struct output *output)
{
    return work_and_say(output, write_rows, output);
}

static int hear(void *data)
{
    struct output *output = data;
    link_keep(&output->link);
    return link_is_hopeless(&output->link, false) ? change_to_file(output) : 0;
}

bool output_hear(struct output *output, bool records, struct link_wishes *wishes)
{
    if (output->link.state == LINK_UNUSED) /* no race: the file thread changes `state` only while the drain waits */
        return false;
    output->link.recording = records;
    work_and_say(output, hear, output);
    *wishes = output->link.wishes;
    output->link.wishes = (struct link_wishes){ 0 };
    return true;
}

struct telling {
    struct output *output;
    uint32_t number;
    const uint8_t *bytes;
    size_t size;
};

static int tell(void *data)
{
    const struct telling *telling = data;
    link_tell_progress(&telling->output->link, telling->number, telling->bytes, telling->size);
    return 0;
}

void output_tell_progress(struct output *output, uint32_t number, const uint8_t *bytes, size_t size)
{
    struct telling telling = { output, number, bytes, size };
    if (output->link.state != LINK_UNUSED)
        work_and_say(output, tell, &telling);
}

int output_close(struct output *output)
{
    int error = work_and_say(output, write_end, output);
    ws_encoder_destroy(output->encoder);
    output->encoder = NULL;
    file_thread_end();
    return error;
}
