/* The truth file: a line for each operation that ended; a graph's begin operation gets none. Start and end are times
 * on the device's clock. The time of submission is host time. */
#include "engine/engine.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row {
    const char *kind, *name;
    struct sim_device *device;
    int context, tid;
    uint64_t stream, stream_id, correlation, bytes;
    int64_t start, end, submit;
};

static struct row *rows;
static int64_t row_count;
static int file = -1;
pthread_mutex_t sim_truth_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const kind_names[] = {
    [SIM_WORK_KERNEL] = "kernel",
    [SIM_WORK_COPY] = "copy",
    [SIM_WORK_MEMSET] = "memset",
    [SIM_WORK_EVENT] = "event",
    [SIM_WORK_WAIT] = "wait",
    [SIM_WORK_HOST] = "host",
    [SIM_WORK_WAIT_VALUE] = "wait_value",
    [SIM_WORK_WRITE_VALUE] = "write_value",
    [SIM_WORK_ALLOC] = "alloc",
    [SIM_WORK_FREE] = "free",
    [SIM_WORK_EMPTY] = "empty",
    [SIM_WORK_GRAPH_BEGIN] = "graph_begin",
    [SIM_WORK_GRAPH_END] = "graph",
};

void sim_truth_write(const struct sim_op *op)
{
    if (!sim_config.truth || op->work.kind == SIM_WORK_GRAPH_BEGIN)
        return;
    if (!rows)
        rows = malloc(2 * (size_t)sim_config.truth_rows * sizeof(*rows));
    if (!rows || row_count == 2 * sim_config.truth_rows)
        return;
    const struct sim_stream *stream = op->stream;
    struct row *row = &rows[row_count++];
    *row = (struct row){ .kind = kind_names[op->work.kind],
                         .name = op->work.name ? op->work.name : "-",
                         .device = stream->context->device,
                         .context = stream->context->number,
                         .tid = op->tid,
                         .stream = (uint64_t)stream->handle,
                         .stream_id = stream->id,
                         .correlation = op->correlation,
                         .bytes = op->work.bytes,
                         .start = op->start,
                         .end = op->end,
                         .submit = op->submit };
}

bool sim_truth_full(void)
{
    return row_count >= sim_config.truth_rows;
}

/* Text that is buffered before it is written to the file. stdio is not used: a signal handler may call exit in the
 * middle of a write, and exit would then wait for ever for the lock of the FILE. */
struct text {
    size_t length;
    char bytes[1 << 16];
};

static void send(struct text *text)
{
    for (size_t done = 0; done < text->length;) {
        ssize_t written = write(file, text->bytes + done, text->length - done);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    text->length = 0;
}

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    enum { LONGEST = 8192 };
    if (text->length > sizeof(text->bytes) - LONGEST)
        send(text);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->length, LONGEST, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += length < LONGEST ? (size_t)length : LONGEST - 1;
}

static bool open_file(struct text *text)
{
    char path[4096];
    size_t length = 0;
    for (const char *from = sim_config.truth; *from && length < sizeof(path) - 24; from++) {
        if (from[0] == '%' && from[1] == 'p') {
            length += (size_t)snprintf(path + length, 24, "%d", (int)getpid());
            from++;
        } else {
            path[length++] = *from;
        }
    }
    path[length] = '\0';
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
        sim_log("cannot write the truth to %s", path);
        sim_config.truth = NULL;
        return false;
    }
    add(text, "#device\tcontext\tstream\tstream_id\tkind\tname\tcorrelation\ttid\tstart_ns\tend_ns\tbytes\t"
              "submit_ns\n");
    for (int i = 0; i < sim_device_count; i++)
        add(text, "#clock\tdevice=%d\torigin_host_ns=%lld\toffset_ns=%lld\tdrift=%.9g\tresolution_ns=%lld\n", i,
            (long long)sim_clock_origin, (long long)sim_devices[i].clock_offset,
            (double)sim_devices[i].clock_drift_ppm * 1e-6, (long long)sim_config.event_resolution_ns);
    return true;
}

static void add_row(struct text *text, const struct row *row)
{
    add(text, "%d\t%d\t0x%llx\t%llu\t%s\t%s\t%llu\t%d\t%lld\t%lld\t%llu\t%lld\n", row->device->ordinal, row->context,
        (unsigned long long)row->stream, (unsigned long long)row->stream_id, row->kind, row->name,
        (unsigned long long)row->correlation, row->tid, (long long)sim_device_time(row->device, row->start),
        (long long)sim_device_time(row->device, row->end), (unsigned long long)row->bytes, (long long)row->submit);
}

/* Writes the rows to the file. Call it without sim_lock: it takes the lock itself while it fetches the rows, and
 * releases it before it writes them. */
void sim_truth_flush(void)
{
    static struct text text;
    if (!sim_config.truth)
        return;
    pthread_mutex_lock(&sim_truth_lock);
    pthread_mutex_lock(&sim_lock);
    struct row *full = rows;
    int64_t count = row_count;
    rows = NULL;
    row_count = 0;
    pthread_mutex_unlock(&sim_lock);
    if (file >= 0 || open_file(&text)) {
        for (int64_t i = 0; i < count; i++)
            add_row(&text, &full[i]);
        send(&text);
    }
    free(full);
    pthread_mutex_unlock(&sim_truth_lock);
}
