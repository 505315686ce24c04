/* Reads and writes DIR/JOB/manifest.json. The manifest lists the recordings in the folder: the process of each
 * recording, and how the recording ended. */
#include "collector/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/process.h"
#include "wire/process_stat.h"

#define MANIFEST "manifest.json"
#define TEMPORARY ".manifest.json.new"
#define NEWEST ".manifest.more" /* file with one line of JSON for each recording that the manifest still lacks */

enum {
    MANIFEST_VERSION = 1,
    MANIFEST_BYTES_MAX = 16 << 20,
};

static json_t *text_of_number(uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%016" PRIx64, number);
    return json_string(text);
}

static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("?"); /* the text was not UTF-8 */
}

static json_t *describe(const struct recording *one)
{
    json_t *row = json_object();
    json_object_set_new(row, "file", text_of(one->file));
    json_object_set_new(row, "pid", json_integer(one->identity.pid));
    if (*one->identity.from)
        json_object_set_new(row, "relayed_by", text_of(one->identity.from));
    else
        json_object_set_new(row, "uid", json_integer(one->uid));
    json_object_set_new(row, "host", text_of(one->host));
    json_object_set_new(row, "rank", text_of(*one->rank ? one->rank : "unknown"));
    json_object_set_new(row, "start_time", json_integer((json_int_t)one->identity.start_time));
    json_object_set_new(row, "boot_id", text_of(one->identity.boot_id));
    json_object_set_new(row, "stream", text_of_number(one->identity.stream));
    json_object_set_new(row, "ended", text_of(*one->ended ? one->ended : "still recording"));
    json_object_set_new(row, "bytes", json_integer((json_int_t)one->bytes));
    json_object_set_new(row, "frames", json_integer((json_int_t)one->frames));
    json_object_set_new(row, "refused_bytes", json_integer((json_int_t)one->refused_bytes));
    if (one->relayed)
        json_object_set_new(row, "relayed", json_true());
    return row;
}

/* Describes this process, which writes the manifest. Readers of the manifest use this description to find out whether
 * the writer still lives: only then is the word "still recording" in the manifest true. */
static json_t *describe_collector(void)
{
    json_t *row = json_object();
    json_object_set_new(row, "pid", json_integer(getpid()));
    json_object_set_new(row, "start_time", json_integer((json_int_t)process_start_time(getpid())));
    json_object_set_new(row, "boot_id", text_of(process_boot_id()));
    return row;
}

static json_t *describe_events(const struct job *job)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < job->event_count; i++) {
        const struct job_event *event = &job->events[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:o, s:o}", "time", event->time, "cause", event->cause,
                                              "folder", text_of(event->folder), "text", text_of(event->text)));
    }
    return rows;
}

static char *make_text(const struct job *job, const struct jobs *jobs)
{
    json_t *root = json_object(), *rows = json_array();
    for (const struct recording *one = job->recordings; one; one = one->next)
        json_array_insert_new(rows, 0, describe(one)); /* the list job->recordings begins with the newest */
    json_object_set_new(root, "version", json_integer(MANIFEST_VERSION));
    json_object_set_new(root, "creator", json_string("wallshim-collector " WS_VERSION));
    json_object_set_new(root, "job", text_of(job->name));
    json_object_set_new(root, "refused_clients", json_integer((json_int_t)jobs->refused_clients));
    json_object_set_new(root, "refused_bytes", json_integer((json_int_t)jobs->refused_bytes));
    json_object_set_new(root, "removed_traces", json_integer((json_int_t)job->removed_traces));
    json_object_set_new(root, "removed_dumps", json_integer((json_int_t)job->removed_dumps));
    json_object_set_new(root, "removed_bytes", json_integer((json_int_t)job->removed_bytes));
    json_object_set_new(root, "collector", describe_collector());
    if (job->event_count)
        json_object_set_new(root, "events", describe_events(job));
    json_object_set_new(root, "clients", rows);
    char *text = json_dumps(root, JSON_INDENT(2)), *line = NULL;
    json_decref(root);
    if (text && asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    return line;
}

static int write_all(int file, const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t size = write(file, text, left);
        if (size < 0 && errno != EINTR)
            return -errno;
        text += size > 0 ? size : 0;
        left -= size > 0 ? (size_t)size : 0;
    }
    return 0;
}

int manifest_write(struct job *job, const struct jobs *jobs)
{
    char *text = make_text(job, jobs);
    if (!text)
        return -ENOMEM;
    int status = 0;
    unlinkat(job->folder, TEMPORARY, 0); /* a killed collector may have left this file */
    int file = openat(job->folder, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        status = -errno;
    if (!status)
        status = write_all(file, text);
    if (file >= 0 && close(file) && !status)
        status = -errno;
    if (!status && renameat(job->folder, TEMPORARY, job->folder, MANIFEST))
        status = -errno;
    if (!status)
        unlinkat(job->folder, NEWEST, 0);
    free(text);
    return status;
}

void manifest_note(struct job *job, const struct recording *recording)
{
    json_t *row = describe(recording);
    char *text = json_dumps(row, JSON_COMPACT), *line = NULL;
    int file = openat(job->folder, NEWEST, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file >= 0 && text && asprintf(&line, "%s\n", text) > 0)
        write_all(file, line);
    if (file >= 0)
        close(file);
    free(line);
    free(text);
    json_decref(row);
}

static void take_text(const json_t *row, const char *key, char *text, size_t capacity)
{
    const char *value = json_string_value(json_object_get(row, key));
    snprintf(text, capacity, "%s", value ? value : "");
}

static uint64_t take_number(const json_t *row, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(row, key));
    return value > 0 ? (uint64_t)value : 0;
}

static int take_row(struct job *job, const json_t *row)
{
    char stream[32];
    struct recording *one = calloc(1, sizeof(*one));
    if (!one)
        return -ENOMEM;
    take_text(row, "file", one->file, sizeof(one->file));
    take_text(row, "host", one->host, sizeof(one->host));
    take_text(row, "rank", one->rank, sizeof(one->rank));
    take_text(row, "ended", one->ended, sizeof(one->ended));
    take_text(row, "boot_id", one->identity.boot_id, sizeof(one->identity.boot_id));
    take_text(row, "relayed_by", one->identity.from, sizeof(one->identity.from));
    take_text(row, "stream", stream, sizeof(stream));
    one->identity.stream = strtoull(stream, NULL, 16);
    one->identity.pid = (pid_t)take_number(row, "pid");
    one->identity.start_time = take_number(row, "start_time");
    one->uid = (uid_t)take_number(row, "uid");
    one->bytes = take_number(row, "bytes");
    one->frames = take_number(row, "frames");
    one->refused_bytes = take_number(row, "refused_bytes");
    one->relayed = json_is_true(json_object_get(row, "relayed"));
    if (!strcmp(one->ended, "still recording")) {
        snprintf(one->ended, sizeof(one->ended), "the collector ended first");
        job->changed = true;
    }
    one->next = job->recordings;
    job->recordings = one;
    job->count++;
    return 0;
}

static void take_event(struct job *job, const json_t *row)
{
    struct job_event event;
    take_text(row, "time", event.time, sizeof(event.time));
    take_text(row, "cause", event.cause, sizeof(event.cause));
    take_text(row, "folder", event.folder, sizeof(event.folder));
    take_text(row, "text", event.text, sizeof(event.text));
    job_tell(job, &event);
}

static bool has_file(const struct job *job, const char *file)
{
    const struct recording *one = job->recordings;
    while (one && strcmp(one->file, file))
        one = one->next;
    return one;
}

/* Reads the recordings that manifest_note has added since the last manifest_write. The last line of that file may be
 * incomplete. */
static int read_newest(struct job *job)
{
    int descriptor = openat(job->folder, NEWEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), status = 0;
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    char line[4096];
    if (!file && descriptor >= 0)
        close(descriptor);
    while (file && !status && fgets(line, sizeof(line), file)) {
        json_t *row = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(row, "file"));
        if (name && !has_file(job, name))
            status = take_row(job, row);
        json_decref(row);
    }
    if (file)
        fclose(file);
    return status;
}

/* Does the manifest belong to another collector that still runs? */
static bool is_foreign(const json_t *root)
{
    const json_t *writer = json_object_get(root, "collector");
    const char *boot = json_string_value(json_object_get(writer, "boot_id"));
    pid_t pid = (pid_t)take_number(writer, "pid");
    return boot && !strcmp(boot, process_boot_id()) && pid != getpid() &&
           ws_process_is_alive(pid, take_number(writer, "start_time"));
}

int manifest_read(struct job *job)
{
    struct stat about;
    int file = openat(job->folder, MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? read_newest(job) : -errno;
    bool fits = !fstat(file, &about) && S_ISREG(about.st_mode) && about.st_size <= MANIFEST_BYTES_MAX;
    json_t *root = fits ? json_loadfd(file, 0, NULL) : NULL;
    json_t *rows = json_object_get(root, "clients");
    int status = rows ? is_foreign(root) ? -EBUSY : 0 : -EINVAL;
    job->removed_traces = take_number(root, "removed_traces");
    job->removed_dumps = take_number(root, "removed_dumps");
    job->removed_bytes = take_number(root, "removed_bytes");
    for (size_t i = 0; i < json_array_size(rows) && !status; i++)
        status = take_row(job, json_array_get(rows, i));
    bool changed = job->changed;
    const json_t *events = json_object_get(root, "events");
    for (size_t i = 0; i < json_array_size(events) && !status; i++)
        take_event(job, json_array_get(events, i));
    job->changed = changed;
    json_decref(root);
    close(file);
    return status ? status : read_newest(job);
}
