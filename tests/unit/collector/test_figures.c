/* Tests of the live figures that the collector computes from a trace's frames: what is counted, which values are
 * rejected, and that memory and the number of series are bounded. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/metrics.h"
#include "wire/encoder.h"

enum { MS = 1000000 };

static struct figures *figures;
static struct figures_source source;
static struct figures_stream *stream;
static struct ws_encoder *encoder;
static int64_t start;
static const struct metrics_collector collector = {
    .hangs = 9, .hanging = 1, .dumps = { { "request", 3 }, { "hang", 7 }, { "slow-step", 1 } }
};
static int copy = -1; /* a file that receives the frames as well; -1: none */

/* The encoder calls this sink once for each unit of the trace: a header or a frame. */
static int take(void *data, const void *bytes, size_t size)
{
    (void)data;
    figures_add(stream, bytes, size);
    return copy >= 0 && write(copy, bytes, size) != (ssize_t)size ? -1 : 0;
}

static int set_up(void **state)
{
    (void)state;
    const struct ws_encoder_options options = { .write = take };
    figures = figures_create(1000);
    start = ws_clock_ns() - 1000 * MS;
    source = (struct figures_source){ "job", "host", "3", 42, true, start };
    stream = figures_open(figures, &source);
    return figures && stream && !ws_encoder_create(&encoder, &options) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ws_encoder_destroy(encoder);
    figures_close(stream);
    size_t devices = figures->device_count;
    figures_destroy(figures);
    return devices > FIGURES_DEVICES_MAX;
}

static struct ws_text text(const char *words)
{
    return (struct ws_text){ words, (uint32_t)strlen(words) };
}

static void add(enum ws_family family, const void *row)
{
    assert_int_equal(ws_encoder_add(encoder, family, row), 0);
}

#define ADD(family, ...) add(WS_FAMILY_##family, &(struct ws_##family){ __VA_ARGS__ })

/* Describes one device, whose clock began at `start`, and three shapes (kinds of launches): 1 is a kernel, 2 a copy
 * to the device, 3 a kernel of NCCL. */
static void add_tables(void)
{
    ADD(driver_function, .id = 7, .family = WS_CALL_SYNC, .name = text("cuCtxSynchronize"));
    ADD(device, .id = 1, .name = text("H100"), .uuid = text("GPU-01234567-89ab-cdef-0123-456789abcdef"));
    ADD(context, .id = 1, .device = 1);
    ADD(stream, .id = 1, .context = 1);
    ADD(function, .id = 1, .name = text("gemm"));
    ADD(function, .id = 2, .name = text("ncclDevKernel_AllReduce"));
    ADD(shape, .id = 1, .kind = WS_OP_KERNEL, .stream = 1, .function = 1);
    ADD(shape, .id = 2, .kind = WS_OP_COPY, .stream = 1, .from_space = WS_SPACE_PINNED, .to_space = WS_SPACE_DEVICE);
    ADD(shape, .id = 3, .kind = WS_OP_KERNEL, .stream = 1, .function = 2);
    ADD(clock, .context = 1, .device_ns = 0, .host_ns = start);
}

static void add_op(uint32_t shape, int64_t begin, int64_t end, uint64_t bytes, uint32_t flags)
{
    ADD(op, .shape = shape, .thread = 1, .host_begin = start + begin, .host_end = start + begin, .begin = begin,
        .end = end, .bytes = bytes, .flags = flags | WS_TIME_MEASURED | WS_TIME_MEASURED << 2);
}

static void flush(void)
{
    assert_int_equal(ws_encoder_flush(encoder), 0);
}

static struct figures_device *only_device(void)
{
    struct figures_device *device = figures->first->devices;
    figures_device_settle(device, &figures->first->waits);
    return device;
}

static void frames_are_counted(void **state)
{
    (void)state;
    add_tables();
    add_op(1, 0, 10 * MS, 0, 0);
    add_op(3, 5 * MS, 20 * MS, 0, 0);
    add_op(2, 30 * MS, 31 * MS, 4096, 0);
    add_op(1, 40 * MS, 90 * MS, 0, WS_OP_CAPTURED);
    ADD(op, .shape = 1, .result = 700);
    ADD(loss, .reason = WS_LOSS_RING_FULL, .count = 5);
    ADD(loss, .reason = 99999, .count = UINT64_MAX);
    ADD(loss, .reason = 99999, .count = 7);
    flush();
    const struct figures_process *process = figures->first;
    const struct figures_device *device = only_device();
    assert_string_equal(device->uuid, "GPU-01234567-89ab-cdef-0123-456789abcdef");
    assert_int_equal(device->launches[WS_OP_KERNEL], 1);
    assert_int_equal(device->launches[WS_OP_COPY], 1);
    assert_int_equal(device->launches[FIGURES_CLASS_COMMUNICATION], 1);
    assert_int_equal(device->copied_bytes[FIGURES_HOST_TO_DEVICE], 4096);
    assert_int_equal(device->busy_ns, 21 * MS);
    assert_int_equal(device->exposed_ns, 10 * MS);
    assert_int_equal(process->records[WS_FAMILY_op], 5);
    assert_int_equal(process->lost[WS_LOSS_RING_FULL], 5);
    assert_true(process->lost[WS_LOSS_COUNT] == UINT64_MAX);
    assert_int_equal(process->untrusted, 0);
    figures_salvage(figures, &source, 12);
    figures_salvage(NULL, &source, 12);
    assert_int_equal(process->salvaged, 12);
}

static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    add_tables();
    add_op(1, 0, MS, 0, 0);
    add_op(1, 3600000LL * MS, 3600001LL * MS, 0, 0); /* an hour later */
    add_op(1, -3600000LL * MS, 0, 0, 0);             /* begins before the process did */
    add_op(1, 20 * MS, 10 * MS, 0, 0);               /* ends before it begins */
    add_op(1, INT64_MIN, INT64_MAX, 0, 0);
    add_op(2, 2 * MS, 3 * MS, UINT64_MAX, 0);  /* an impossible number of bytes */
    add_op(4000000000u, 2 * MS, 3 * MS, 0, 0); /* an unknown shape */
    ADD(shape, .id = 4000000000u, .kind = WS_OP_KERNEL, .stream = 1);
    ADD(stream, .id = UINT32_MAX, .context = UINT32_MAX);
    ADD(device, .id = UINT32_MAX, .uuid = text("GPU-1"));
    ADD(clock, .context = UINT32_MAX);
    flush();
    const struct figures_device *device = only_device();
    assert_int_equal(device->busy_ns, 2 * MS);
    assert_int_equal(device->copied_bytes[FIGURES_HOST_TO_DEVICE], 0);
    assert_int_equal(figures->first->untrusted, 10);
    assert_true(figures->memory.used < 1 << 20);
}

static void damaged_frames_are_counted(void **state)
{
    (void)state;
    uint8_t unit[WS_FRAME_HEADER_SIZE + 8] = { 0 };
    struct ws_frame_header header = { .family = WS_FAMILY_op,
                                      .major = WS_FORMAT_MAJOR,
                                      .rows = 1000,
                                      .stored_size = 8,
                                      .raw_size = 8,
                                      .host_first = 1 };
    memset(unit + WS_FRAME_HEADER_SIZE, 0xff, 8);
    ws_frame_header_write(unit, &header);
    figures_add(stream, unit, sizeof(unit));
    assert_int_equal(figures->undecoded, 1);
    header.raw_size = WS_FRAME_BYTES_MAX; /* a few bytes whose header states the largest raw size */
    header.flags = WS_FRAME_COMPRESSED;
    ws_frame_header_write(unit, &header);
    for (int i = 0; i < 10; i++)
        figures_add(stream, unit, sizeof(unit));
    assert_int_equal(figures->undecoded, 11);
}

/* If decoding takes too long, operations are left out. Names are decoded all the same, since all later frames need
 * them. */
static void decoding_has_a_budget(void **state)
{
    (void)state;
    figures->budget_at = ws_clock_ns();
    figures->budget_ns = -((int64_t)1 << 50);
    add_tables();
    add_op(1, 0, MS, 0, 0);
    flush();
    assert_int_equal(figures->skipped, 1);
    assert_int_equal(figures->first->records[WS_FAMILY_op], 1);
    figures->budget_ns = 1;
    add_op(1, 2 * MS, 4 * MS, 0, 0);
    flush();
    assert_int_equal(figures->skipped, 1);
    assert_int_equal(only_device()->busy_ns, 2 * MS);
}

/* A client that connects again continues its file. If the collector was restarted in between, it reads the names from
 * that file. */
static void a_resumed_trace_has_its_names(void **state)
{
    (void)state;
    char path[] = "figures-XXXXXX";
    copy = mkstemp(path);
    assert_true(copy >= 0);
    assert_int_equal(unlink(path), 0);
    /* This test's encoder wrote its file header before the file was opened, so zeros stand for the header. The
     * collector does not look at the zeros. */
    assert_int_equal(write(copy, (char[WS_FILE_HEADER_SIZE]){ 0 }, WS_FILE_HEADER_SIZE), WS_FILE_HEADER_SIZE);
    add_tables();
    add_op(1, 0, MS, 0, 0);
    flush();
    figures_close(stream);
    figures_tick(figures, 1000 + 2 * FIGURES_KEPT_MS); /* after this time, all figures of the process are dropped */
    assert_null(figures->first);
    stream = figures_open(figures, &source);
    figures_resume(stream, copy, (uint64_t)lseek(copy, 0, SEEK_CUR));
    close(copy);
    copy = -1;
    add_op(1, 2 * MS, 5 * MS, 0, 0);
    flush();
    assert_int_equal(only_device()->busy_ns, 3 * MS);
    assert_int_equal(figures->first->untrusted, 0);
}

static void series_are_bounded(void **state)
{
    (void)state;
    struct figures_stream *streams[2 * FIGURES_PROCESSES_MAX];
    add_tables();
    flush();
    for (int i = 0; i < 2 * FIGURES_PROCESSES_MAX; i++) {
        source.pid = 1000 + i;
        streams[i] = figures_open(figures, &source);
    }
    assert_int_equal(figures->count, FIGURES_PROCESSES_MAX);
    assert_int_equal(figures->untracked, FIGURES_PROCESSES_MAX + 1);
    assert_null(streams[2 * FIGURES_PROCESSES_MAX - 1]);
    figures_add(NULL, NULL, 0);
    for (int i = 0; i < 2 * FIGURES_PROCESSES_MAX; i++)
        figures_close(streams[i]);
    figures_tick(figures, 2000);
    assert_int_equal(figures->count, FIGURES_PROCESSES_MAX);
    source.pid = 9; /* takes the place of a process that has ended */
    figures_close(figures_open(figures, &source));
    assert_int_equal(figures->count, FIGURES_PROCESSES_MAX);
    figures_tick(figures, 3000 + FIGURES_KEPT_MS);
    assert_int_equal(figures->count, 1); /* of all processes, only the one that is still connected is left */
}

static void devices_are_bounded(void **state)
{
    (void)state;
    char uuid[FIGURES_UUID_SIZE];
    for (unsigned i = 0; i < 4 * FIGURES_DEVICES_MAX; i++) {
        snprintf(uuid, sizeof(uuid), "GPU-%08x", i);
        figures_device_of(figures->first, uuid);
    }
    assert_int_equal(figures->device_count, FIGURES_DEVICES_MAX);
}

/* The labels of a metric's series contain texts from clients. A client's text must not end a line or a label, and no
 * series may contain a kernel's name. */
static void labels_are_harmless(void **state)
{
    (void)state;
    char rank[400];
    memset(rank, 'r', sizeof(rank) - 1);
    rank[sizeof(rank) - 1] = 0;
    const struct figures_source liar = { "a\"} 1\n#", "\xff\x01", rank, 7, false, 0 };
    struct figures_stream *other = figures_open(figures, &liar);
    figures_device_of(figures->first, "x\"\n")->used = true;
    add_tables();
    add_op(1, 0, MS, 0, 0);
    flush();
    struct metrics_text page = { .format = METRICS_PROMETHEUS };
    metrics_write(&page, figures, &collector);
    char *words = calloc(page.size + 1, 1);
    memcpy(words, page.bytes, page.size);
    assert_non_null(strstr(words, "{job=\"a\\\"} 1?#\",host=\"??\",rank=\"rrr"));
    assert_non_null(strstr(words, "device=\"unknown\""));
    assert_null(strstr(words, "gemm"));
    for (char *line = words; line && *line; line = strchr(line, '\n') + 1)
        assert_true(!strncmp(line, "# ", 2) || !strncmp(line, "wallshim_", 9) || !strncmp(line, "process_", 8));
    free(words);
    free(page.bytes);
    figures_close(other);
}

static bool page_has(const char *line)
{
    struct metrics_text page = { .format = METRICS_PROMETHEUS };
    metrics_write(&page, figures, &collector);
    bool has = memmem(page.bytes, page.size, line, strlen(line));
    free(page.bytes);
    return has;
}

/* The program makes 100 steps of 50 ms; each step is a copy and three kernels. One step takes six times as long. */
static void slow_steps_are_told(void **state)
{
    (void)state;
    struct rhythm_step step;
    assert_false(page_has("wallshim_slow_steps_total{"));
    figures->slow_factor = 5;
    figures->longest_step_ns = INT64_MAX;
    source.here = false; /* as if the program ran on another machine: its times are not those of our clock */
    struct figures_stream *other = figures_open(figures, &source);
    figures_close(stream);
    stream = other;
    add_tables();
    int64_t at = 0;
    for (int i = 0; i < 101; i++) {
        add_op(2, at, at + MS, 8, 0);
        for (int64_t kernel = 1; kernel <= 3; kernel++)
            add_op(1, at + kernel * 2 * MS, at + kernel * 2 * MS + MS, 0, 0);
        at += i == 98 ? 300 * MS : 50 * MS;
    }
    assert_false(figures_slow_step(stream, &step));
    flush();
    assert_true(figures_slow_step(stream, &step));
    assert_int_equal(step.took_ns, 300 * MS);
    assert_int_equal(step.median_ns, 50 * MS);
    assert_false(figures_slow_step(stream, &step));
    assert_true(page_has("wallshim_slow_steps_total{job=\"job\",host=\"host\",rank=\"3\",pid=\"42\"} 1\n"));
    assert_true(page_has("wallshim_collector_dumps_total{cause=\"hang\"} 7\n"));
    assert_true(page_has("wallshim_collector_hangs_total 9\n"));
    assert_true(page_has("wallshim_collector_jobs_hanging 1\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_are_counted),    TEST(what_cannot_be_is_left_out),    TEST(damaged_frames_are_counted),
        TEST(decoding_has_a_budget), TEST(a_resumed_trace_has_its_names), TEST(series_are_bounded),
        TEST(devices_are_bounded),   TEST(labels_are_harmless),           TEST(slow_steps_are_told),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
