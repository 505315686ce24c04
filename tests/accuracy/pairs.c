#include "pairs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum { SHOWN = 10 };

int failures;

void wrong(const char *format, ...)
{
    va_list arguments;
    if (++failures > SHOWN)
        return;
    va_start(arguments, format);
    printf("WRONG ");
    vprintf(format, arguments); // NOLINT(clang-analyzer-valist.Uninitialized): va_start initialized it
    printf("\n");
    va_end(arguments);
}

int verdict(void)
{
    if (failures > SHOWN)
        printf("and %d more\n", failures - SHOWN);
    return failures ? 1 : 0;
}

void *must_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

/* Did the operation happen before the one in the trace? A launch is submitted SIMGPU_LAUNCH_NS after its call began,
 * and then perhaps waits for room in the queue. The host time in the trace may be a little wrong. */
static bool is_before(const struct truth_op *is, const struct traced_op *said)
{
    enum { MARGIN_NS = 300 };
    return is->tid != said->tid ? is->tid < said->tid : is->submit < said->row.host_begin + MARGIN_NS;
}

struct pair *pairs_match(const struct truth *truth, const struct traced *traced, bool may_count, size_t *count)
{
    struct pair *pairs = must_allocate(truth->count, sizeof(*pairs));
    uint64_t counted = may_count ? traced->counted : 0;
    size_t other = 0;
    *count = 0;
    EXPECT(truth->count >= traced->count && truth->count <= traced->count + counted,
           "%zu operations in the trace, %zu happened", traced->count, truth->count);
    for (size_t at = 0; at < truth->count && other < traced->count; at++) {
        const struct truth_op *is = &truth->ops[at];
        const struct traced_op *said = &traced->ops[other];
        if (counted && is_before(is, said))
            continue; /* it was only counted */
        if (is->tid != said->tid) {
            EXPECT(false, "thread %u has other operations in the trace than it made", is->tid);
            break;
        }
        bool same = is->kind == said->kind && is->device == said->device && is->stream == said->stream &&
                    (is->kind == WS_OP_KERNEL ? !strcmp(is->name, said->name) : is->bytes == said->row.bytes);
        EXPECT(same,
               "operation %" PRIu64 " of thread %u is a %s %s of %" PRIu64 " bytes on device %u, stream %" PRIx64
               ", in the trace a %s %s of %" PRIu64 " bytes on device %u, stream %" PRIx64,
               is->order, is->tid, ws_op_kind_name(is->kind), is->name, is->bytes, is->device, is->stream,
               ws_op_kind_name(said->kind), said->name, said->row.bytes, said->device, said->stream);
        EXPECT(said->row.result == 0, "operation %" PRIu64 " was refused, says the trace", is->order);
        if (other && said->row.thread == said[-1].row.thread)
            EXPECT(said->row.correlation != said[-1].row.correlation, "correlation %" PRIu64 " twice",
                   said->row.correlation);
        other++;
        if (same)
            pairs[(*count)++] = (struct pair){ is, said };
    }
    EXPECT(other == traced->count, "%zu operations in the trace did not happen", traced->count - other);
    return pairs;
}

bool has_begin(const struct ws_op *op)
{
    return ws_op_begin_quality(op) != WS_TIME_NONE;
}

bool has_end(const struct ws_op *op)
{
    return ws_op_end_quality(op) != WS_TIME_NONE;
}

/* One end of the interval of shifts (pairs_shift) with which a record's times are right within their stated errors.
 * step is 1 at the lower end, -1 at the upper end. */
struct bound {
    int64_t shift;
    int step;
};

static int by_shift(const void *a, const void *b)
{
    const struct bound *one = a, *two = b;
    if (one->shift != two->shift)
        return one->shift < two->shift ? -1 : 1;
    return two->step - one->step; /* lower ends come first, because intervals include their ends */
}

int64_t pairs_shift(const struct pair *pairs, size_t count, uint32_t context)
{
    struct bound *bounds = must_allocate(4 * count, sizeof(*bounds));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ws_op *op = &pairs[i].traced->row;
        const struct truth_op *is = pairs[i].truth;
        if (pairs[i].traced->context != context)
            continue;
        if (has_begin(op)) {
            bounds[used++] = (struct bound){ op->begin - op->begin_error - is->start, 1 };
            bounds[used++] = (struct bound){ op->begin + op->begin_error - is->start, -1 };
        }
        if (has_end(op)) {
            bounds[used++] = (struct bound){ op->end - op->end_error - is->end, 1 };
            bounds[used++] = (struct bound){ op->end + op->end_error - is->end, -1 };
        }
    }
    if (used)
        qsort(bounds, used, sizeof(*bounds), by_shift);
    int64_t best_from = 0, best_to = 0;
    long depth = 0, best = 0;
    for (size_t i = 0; i < used; i++) {
        depth += bounds[i].step;
        if (depth > best) {
            best = depth;
            best_from = bounds[i].shift;
            best_to = i + 1 < used ? bounds[i + 1].shift : best_from;
        }
    }
    free(bounds);
    return best_from + (best_to - best_from) / 2;
}

static int by_begin(const void *a, const void *b)
{
    const struct span *one = a, *two = b;
    return one->begin < two->begin ? -1 : one->begin > two->begin;
}

int64_t spans_union(struct span *spans, size_t count, int64_t *error)
{
    int64_t sum = 0, sure = 0, sure_until = INT64_MIN;
    *error = 0;
    if (count)
        qsort(spans, count, sizeof(*spans), by_begin);
    for (size_t i = 0; i < count; i++) {
        int64_t from = ws_max(spans[i].begin + spans[i].begin_error, sure_until);
        int64_t to = spans[i].end - spans[i].end_error;
        if (from < to) {
            sure += to - from;
            sure_until = to;
        }
    }
    for (size_t i = 0; i < count;) {
        struct span whole = spans[i];
        for (i++; i < count && spans[i].begin <= whole.end; i++) {
            if (spans[i].end > whole.end) {
                whole.end = spans[i].end;
                whole.end_error = spans[i].end_error;
            }
        }
        sum += whole.end - whole.begin;
        *error += whole.begin_error + whole.end_error;
    }
    /* Operations that overlap in the trace may not have overlapped in truth. */
    *error = ws_max(*error, sum - sure);
    return sum;
}
