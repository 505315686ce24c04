#include "rows_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rows.h"
#include "trace/writer.h"

enum { ROWS_MOST = 512 };

struct writing {
    struct rows_job *job;
    size_t rows;
    struct ws_writer *writer; /* writes the trace of the process that the input began last */
};

void rows_must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void begin_process(struct writing *writing)
{
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    struct rows_job *job = writing->job;
    char *path = job->paths[job->count];
    snprintf(path, ROWS_JOB_NAME, "%s/fuzz_job.%d.%zu.wst", folder, (int)getpid(), job->count);
    job->names[job->count++] = path;
    unlink(path);
    ROWS_MUST(!ws_writer_create(&writing->writer, path));
}

static void add(struct writing *writing, enum ws_family family, const void *row)
{
    if (writing->rows++ < ROWS_MOST)
        ROWS_MUST(!ws_writer_add(writing->writer, family, row));
}

void rows_job_write(struct rows_job *job, const uint8_t *data, size_t size)
{
    struct writing writing = { .job = job };
    const uint8_t *end = data + size;
    struct rows_item item, last = { .what = ROWS_PROCESS };
    job->count = 0;
    begin_process(&writing);
    while (data && writing.rows < ROWS_MOST && (data = rows_take(data, end, &item))) {
        if (item.what == ROWS_PROCESS && job->count < ROWS_JOB_PROCESSES) {
            ROWS_MUST(!ws_writer_close(writing.writer));
            begin_process(&writing);
        } else if (item.what == ROWS_REPEAT && last.what < WS_FAMILY_COUNT) {
            for (uint16_t i = 0; i < item.more && writing.rows < ROWS_MOST; i++) {
                rows_advance((enum ws_family)last.what, last.row, item.step);
                add(&writing, (enum ws_family)last.what, last.row);
            }
        } else if (item.what < WS_FAMILY_COUNT) {
            add(&writing, (enum ws_family)item.what, item.row);
            last = item;
        }
    }
    ROWS_MUST(!ws_writer_close(writing.writer));
}

void rows_job_remove(const struct rows_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        unlink(job->paths[i]);
}
