/* Tests that the simulated GPU's truth file (all operations with their true times) agrees with what many threads did
 * on several streams and devices. */
#include <pthread.h>
#include <unistd.h>

#include "simgpu.h"

enum { THREADS = 8, STREAMS = 4, DEVICES = 2, EACH = 1000 };

static char path[] = "/tmp/simgpu-truth-XXXXXX";

struct device {
    ws_CUcontext context;
    ws_CUfunction spin;
    ws_CUdeviceptr memory;
    ws_CUstream streams[STREAMS / DEVICES];
};

static struct device devices[DEVICES];

static ws_CUstream stream_of(int thread)
{
    return devices[thread % DEVICES].streams[thread / DEVICES % (STREAMS / DEVICES)];
}

/* What each thread does: it queues short kernels, memsets and copies, and makes streams of the device wait for each
 * other. */
static void *work(void *argument)
{
    int thread = (int)(intptr_t)argument;
    const struct device *device = &devices[thread % DEVICES];
    ws_CUstream stream = stream_of(thread);
    ws_CUevent event;
    void *host;
    cuCtxSetCurrent(device->context);
    cuEventCreate(&event, WS_CU_EVENT_DISABLE_TIMING);
    cuMemAllocHost_v2(&host, 4096);
    for (int i = 0; i < EACH; i++) {
        uint64_t ns = 2000 + (uint64_t)(i * 37 % 18000);
        void *parameters[] = { &ns };
        if (i % 10 == 3) {
            cuMemsetD32Async(device->memory, 1, 64, stream);
        } else if (i % 10 == 7) {
            cuMemcpyHtoDAsync_v2(device->memory, host, 4096, stream);
        } else {
            cuLaunchKernel(device->spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
        }
        if (i % 100 == 50) {
            cuEventRecord(event, stream);
            cuStreamWaitEvent(stream_of((thread + DEVICES) % THREADS), event, 0);
        }
    }
    return NULL;
}

static int run_all(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    ws_CUmodule module;
    succeeds(cuInit(0));
    for (int i = 0; i < DEVICES; i++) {
        struct device *device = &devices[i];
        succeeds(cuCtxCreate_v2(&device->context, 0, i));
        succeeds(cuModuleLoadData(&module, simgpu_ptx));
        succeeds(cuModuleGetFunction(&device->spin, module, "spin"));
        succeeds(cuMemAlloc_v2(&device->memory, 4096));
        for (int s = 0; s < STREAMS / DEVICES; s++)
            succeeds(cuStreamCreate(&device->streams[s], WS_CU_STREAM_NON_BLOCKING));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < DEVICES; i++)
        succeeds(cuCtxDestroy_v2(devices[i].context));
    return 0;
}

struct row {
    int device;
    unsigned long long stream_id, correlation;
    char kind[16], name[64];
    long long start, end;
};

static struct row rows[2 * THREADS * EACH];
static size_t row_count;

static void read_rows(void)
{
    char line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        struct row *row = &rows[row_count];
        if (*line == '#')
            continue;
        assert_true(row_count < sizeof(rows) / sizeof(rows[0]));
        assert_int_equal(sscanf(line, "%d\t%*d\t%*s\t%llu\t%15s\t%63s\t%llu\t%*d\t%lld\t%lld", &row->device,
                                &row->stream_id, row->kind, row->name, &row->correlation, &row->start, &row->end),
                         7);
        row_count++;
    }
    fclose(file);
}

static int by_correlation(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->correlation > right->correlation) - (left->correlation < right->correlation);
}

static size_t count_of(const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++)
        count += strcmp(rows[i].kind, kind) == 0;
    return count;
}

static void every_operation_has_its_line(void **state)
{
    (void)state;
    read_rows();
    assert_int_equal(count_of("kernel"), THREADS * EACH * 8 / 10);
    assert_int_equal(count_of("memset"), THREADS * EACH / 10);
    assert_int_equal(count_of("copy"), THREADS * EACH / 10);
    assert_int_equal(count_of("event"), THREADS * EACH / 100);
    assert_int_equal(count_of("wait"), THREADS * EACH / 100);
    qsort(rows, row_count, sizeof(rows[0]), by_correlation);
    for (size_t i = 0; i < row_count; i++)
        assert_int_equal(rows[i].correlation, i + 1);
}

static void streams_keep_their_order(void **state)
{
    (void)state;
    struct {
        unsigned long long id;
        long long end;
    } streams[16] = { { 0, 0 } };
    for (size_t i = 0; i < row_count; i++) {
        size_t at = 0;
        while (streams[at].id && streams[at].id != rows[i].stream_id)
            at++;
        streams[at].id = rows[i].stream_id;
        assert_true(rows[i].start >= streams[at].end);
        assert_true(rows[i].end >= rows[i].start);
        streams[at].end = rows[i].end;
    }
}

static void each_device_has_its_clock(void **state)
{
    (void)state;
    char line[512];
    int device, clocks = 0;
    long long origin, offset;
    double drift;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "#clock device=%d origin_host_ns=%lld offset_ns=%lld drift=%lf", &device, &origin, &offset,
                   &drift) != 4)
            continue;
        assert_int_equal(device, clocks++);
        assert_true(offset == 1000000000LL * clocks);
        assert_true(drift == (device ? -20e-6 : 20e-6));
    }
    fclose(file);
    assert_int_equal(clocks, DEVICES);
}

static int by_start(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static void a_copy_engine_does_one_thing_at_a_time(void **state)
{
    (void)state;
    long long ends[DEVICES] = { 0 };
    qsort(rows, row_count, sizeof(rows[0]), by_start);
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(rows[i].kind, "copy") != 0)
            continue;
        assert_true(rows[i].start >= ends[rows[i].device]);
        ends[rows[i].device] = rows[i].end;
    }
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    setenv("SIMGPU_TRUTH", path, 1);
    setenv("SIMGPU_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_its_line),
        cmocka_unit_test(streams_keep_their_order),
        cmocka_unit_test(each_device_has_its_clock),
        cmocka_unit_test(a_copy_engine_does_one_thing_at_a_time),
    };
    int failed = cmocka_run_group_tests(tests, run_all, NULL);
    unlink(path);
    return failed;
}
