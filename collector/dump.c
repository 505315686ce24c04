#include "collector/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/say.h"

const char *dump_word(enum dump_kind kind)
{
    static const char *const words[] = {
#define DUMP_KIND(name, word) word,
        DUMP_KINDS(DUMP_KIND)
#undef DUMP_KIND
    };
    return words[kind];
}

enum { KEPT_MS = 300000, HOUR_MS = 3600000, NAMES_TRIED = 100, SAY_MAX = 12 };

/* One trace of a dump. */
struct part {
    struct flight_view view;
    struct recording *recording; /* the trace's entry in the array dump.copy */
};

struct dump {
    struct dump *next;
    struct dumps *all;
    uv_work_t work;
    struct job *of; /* the job that is dumped */
    struct job job; /* represents the dump for manifest_write: the dump's folder, and the recordings in `copy` */
    struct recording *copy; /* array of copies of the recordings of the job `of` */
    struct part *parts;
    unsigned count;
    enum dump_kind kind;
    struct job_event event;
    char path[4096], left_out[160];
    char *more;
    dump_done done;
    void *data;
    uint64_t bytes;
    int error;
};

/* --- in a thread of its own --------------------------------------------------------------------- */

/* Fills `say_it` with keys and values that describe the dump, for the table `meta` of the trace. Writes two of the
 * values into the buffers `left_out` and `window`, to which `say_it` then points. */
static void describe(const struct dump *dump, const struct part *part, char left_out[160], char window[64],
                     const char *say_it[SAY_MAX])
{
    const struct flight_view *view = &part->view;
    double seconds = (double)(view->newest_ms - view->oldest_ms) / 1000;
    snprintf(window, 64, "the last %.3g s in which records came, of %.3g s kept", seconds,
             (double)view->memory->window_ms / 1000);
    snprintf(left_out, 160, "%s%s",
             view->cut ? "what came earlier, for lack of memory (--flight-size)" : "what came before this time",
             view->unnamed ? ", and some names or parameters" : "");
    const char *const rows[] = { "flight",          window,        "flight_cause",
                                 dump->event.text,  "flight_time", dump->event.time,
                                 "flight_left_out", left_out,      NULL };
    memcpy(say_it, rows, sizeof(rows));
}

static int write_text(const struct dump *dump)
{
    int file = openat(dump->job.folder, "hang.txt", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    size_t size = strlen(dump->more);
    int status = write(file, dump->more, size) == (ssize_t)size ? 0 : -EIO;
    close(file);
    return status;
}

static void write_part(struct dump *dump, struct part *part)
{
    char path[64 + NAME_SIZE], left_out[160], window[64];
    const char *rows[SAY_MAX];
    struct stat about;
    describe(dump, part, left_out, window, rows);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dump->job.folder, part->recording->file);
    int status = flight_write(&part->view, path, rows);
    if (!status && !stat(path, &about))
        part->recording->bytes = (uint64_t)about.st_size;
    dump->bytes += part->recording->bytes;
    if (status && !dump->error)
        dump->error = status;
}

static void write_dump(uv_work_t *work)
{
    struct dump *dump = work->data;
    const struct jobs none = { .folder = -1 };
    for (unsigned i = 0; i < dump->count; i++)
        write_part(dump, &dump->parts[i]);
    int status = manifest_write(&dump->job, &none);
    if (!status && dump->more)
        status = write_text(dump);
    if (!dump->error)
        dump->error = status;
}

/* --- begin and end ------------------------------------------------------------------------------ */

static void free_dump(struct dump *dump)
{
    for (unsigned i = 0; i < dump->count; i++)
        flight_release(&dump->parts[i].view);
    if (dump->job.folder >= 0)
        close(dump->job.folder);
    free(dump->job.events);
    free(dump->copy);
    free(dump->parts);
    free(dump->more);
    free(dump);
}

static void after_dump(uv_work_t *work, int status)
{
    struct dump *dump = work->data;
    struct dump **link = &dump->all->first;
    while (*link != dump)
        link = &(*link)->next;
    *link = dump->next;
    if (status && !dump->error)
        dump->error = status;
    dump->all->written[dump->kind] += !dump->error;
    if (dump->error)
        say("%s: the dump is not whole: %s", dump->path, strerror(-dump->error));
    else
        say("%s: %s; next: wallshim report %s", dump->of->name, dump->event.text, dump->path);
    job_tell(dump->of, &dump->event);
    dump->of->dumps--;
    const struct dump_result result = { dump->path, dump->count, dump->bytes, dump->error };
    if (dump->done)
        dump->done(dump->data, &result);
    free_dump(dump);
}

/* Copies the job's recordings into the dump, and takes a snapshot of each recording's flight recorder (its last
 * frames in memory). */
static int dump_look(struct dump *dump, const struct job *job)
{
    unsigned count = 0;
    for (const struct recording *one = job->recordings; one; one = one->next)
        count += one->flight != NULL;
    dump->parts = calloc(count + 1, sizeof(*dump->parts));
    dump->copy = calloc(count + 1, sizeof(*dump->copy));
    if (!dump->parts || !dump->copy)
        return -ENOMEM;
    for (const struct recording *one = job->recordings; one; one = one->next) {
        struct part *part = &dump->parts[dump->count];
        if (!one->flight || flight_look(one->flight, &part->view))
            continue;
        part->recording = &dump->copy[dump->count++];
        *part->recording = *one;
        part->recording->flight = NULL;
        part->recording->progress = NULL;
        part->recording->frames = part->view.count;
        part->recording->bytes = 0;
        snprintf(part->recording->ended, sizeof(part->recording->ended), "a dump%s%.80s", *one->ended ? ": " : "",
                 one->ended);
        part->recording->next = dump->job.recordings;
        dump->job.recordings = part->recording;
    }
    return dump->count ? 0 : -ENODATA;
}

/* Creates the dump's folder, such as dump-20261124T051200Z-hang. If it exists, appends a number:
 * dump-20261124T051200Z-hang-2. */
static int make_folder(struct dump *dump, const struct job *job, const char *word)
{
    char stamp[24], *end = stamp, *name = dump->event.folder;
    for (const char *at = dump->event.time; *at; at++)
        if (*at != '-' && *at != ':')
            *end++ = *at;
    *end = 0;
    snprintf(name, sizeof(dump->event.folder), "dump-%s-%s", stamp, word);
    for (int attempt = 2; mkdirat(job->folder, name, 0700); attempt++) {
        if (errno != EEXIST || attempt > NAMES_TRIED)
            return -errno;
        snprintf(name, sizeof(dump->event.folder), "dump-%s-%s-%d", stamp, word, attempt);
    }
    dump->job.folder = openat(job->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dump->job.folder < 0)
        return -errno;
    snprintf(dump->job.name, sizeof(dump->job.name), "%s", name);
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dump->job.folder);
    ssize_t length = readlink(link, dump->path, sizeof(dump->path) - 1);
    dump->path[length > 0 ? length : 0] = 0;
    return 0;
}

static bool is_too_often(struct dumps *dumps, enum dump_kind kind)
{
    uint64_t now = uv_now(dumps->loop);
    if (!dumps->hour_ms || now - dumps->hour_ms > HOUR_MS) {
        dumps->hour_ms = now;
        memset(dumps->in_hour, 0, sizeof(dumps->in_hour));
    }
    return kind != DUMP_REQUEST && dumps->in_hour[kind] >= DUMPS_AN_HOUR;
}

static int dump_prepare(struct dump *dump, const struct job *job, const struct dump_cause *cause)
{
    dump->kind = cause->kind;
    job_event_init(&dump->event, dump_word(cause->kind), cause->text);
    dump->more = cause->more ? strdup(cause->more) : NULL;
    int status = cause->more && !dump->more ? -ENOMEM : dump_look(dump, job);
    if (!status)
        status = make_folder(dump, job, dump_word(cause->kind));
    if (!status)
        job_tell(&dump->job, &dump->event);
    return status;
}

int dump_begin(struct dumps *dumps, struct job *job, const struct dump_cause *cause, dump_done done, void *data)
{
    for (const struct dump *other = dumps->first; other; other = other->next)
        if (other->of == job)
            return -EALREADY;
    if (is_too_often(dumps, cause->kind))
        return -EDQUOT;
    struct dump *dump = calloc(1, sizeof(*dump));
    if (!dump)
        return -ENOMEM;
    dump->all = dumps;
    dump->of = job;
    dump->job.folder = -1;
    dump->done = done;
    dump->data = data;
    dump->work.data = dump;
    int status = dump_prepare(dump, job, cause);
    if (!status)
        status = uv_queue_work(dumps->loop, &dump->work, write_dump, after_dump);
    if (status) {
        free_dump(dump);
        return status;
    }
    dump->next = dumps->first;
    dumps->first = dump;
    job->dumps++;
    dumps->in_hour[cause->kind]++;
    return 0;
}

void dumps_forget(struct dumps *dumps, const void *data)
{
    for (struct dump *dump = dumps->first; dump; dump = dump->next)
        if (dump->data == data)
            dump->done = NULL;
}

void dumps_tick(struct dumps *dumps, struct jobs *jobs)
{
    uint64_t now = uv_now(dumps->loop);
    for (struct job *job = jobs->first; job && dumps->flights.window_ms; job = job->next)
        for (struct recording *one = job->recordings; one; one = one->next) {
            if (!one->flight)
                continue;
            flight_tick(one->flight);
            if (one->open || !one->ended_ms)
                one->ended_ms = now;
            if (now - one->ended_ms < dumps->flights.window_ms + KEPT_MS)
                continue;
            flight_destroy(one->flight);
            one->flight = NULL;
        }
}

void dumps_end(struct dumps *dumps)
{
    while (dumps->first)
        uv_run(dumps->loop, UV_RUN_ONCE);
}
