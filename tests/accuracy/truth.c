#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct truth_op *one = a, *two = b;
    if (one->tid != two->tid)
        return one->tid < two->tid ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

static enum ws_op_kind kind_of(const char *name)
{
    if (!strcmp(name, "kernel"))
        return WS_OP_KERNEL;
    if (!strcmp(name, "copy"))
        return WS_OP_COPY;
    return !strcmp(name, "memset") ? WS_OP_MEMSET : WS_OP_UNKNOWN;
}

static void read_clock(struct truth *truth, const char *line)
{
    unsigned device;
    long long origin, offset;
    double drift;
    if (sscanf(line, "#clock\tdevice=%u\torigin_host_ns=%lld\toffset_ns=%lld\tdrift=%lf", &device, &origin, &offset,
               &drift) == 4 &&
        device < TRUTH_DEVICES)
        truth->clocks[device] = (struct truth_clock){ origin, offset, drift };
}

/* The columns of a line: device context stream stream_id kind name correlation tid start_ns end_ns bytes submit_ns */
static int read_op(struct truth_op *op, const char *line)
{
    char kind[16], name[64];
    unsigned device, tid;
    unsigned long long stream, life, order, bytes;
    long long start, end, submit;
    if (sscanf(line, "%u\t%*u\t%llx\t%llu\t%15s\t%63s\t%llu\t%u\t%lld\t%lld\t%llu\t%lld", &device, &stream, &life,
               kind, name, &order, &tid, &start, &end, &bytes, &submit) != 11)
        return -1;
    *op = (struct truth_op){ .tid = tid,
                             .device = device,
                             .order = order,
                             .stream = stream,
                             .stream_life = life,
                             .start = start,
                             .end = end,
                             .submit = submit,
                             .bytes = bytes,
                             .kind = kind_of(kind) };
    snprintf(op->name, sizeof(op->name), "%.23s", name);
    return 0;
}

int truth_load(struct truth *truth, const char *path)
{
    char line[512];
    size_t capacity = 0;
    *truth = (struct truth){ 0 };
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    while (fgets(line, sizeof(line), file)) {
        if (line[0] == '#') {
            read_clock(truth, line);
            continue;
        }
        if (truth->count == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            struct truth_op *ops = realloc(truth->ops, capacity * sizeof(*ops));
            if (!ops)
                goto failed;
            truth->ops = ops;
        }
        if (read_op(&truth->ops[truth->count], line)) {
            fprintf(stderr, "%s: not understood: %s", path, line);
            goto failed;
        }
        truth->count += truth->ops[truth->count].kind != WS_OP_UNKNOWN;
    }
    fclose(file);
    if (truth->count)
        qsort(truth->ops, truth->count, sizeof(*truth->ops), compare);
    return 0;

failed:
    fclose(file);
    truth_finish(truth);
    return -1;
}

void truth_finish(struct truth *truth)
{
    free(truth->ops);
    *truth = (struct truth){ 0 };
}
