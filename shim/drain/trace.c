#include "shim/drain/trace.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "shim/drain/output.h"
#include "shim/hook/resolve.h"
#include "shim/state/live.h"
#include "shim/state/registry.h"

static struct output output;
static _Atomic uint64_t bytes;  /* size of the trace at the last flush */
static uint64_t losses_refused; /* number of rows of losses that could not be written, as of the last flush */
static bool failed;             /* writing has failed, and a warning was printed */
static bool open_now;           /* a trace is open: true from trace_begin until trace_close */

static void complain(int error)
{
    if (error == -ECONNABORTED) /* the collector takes no more of the trace, and an earlier message says why */
        return;
    if (error && !failed) {
        failed = true;
        ws_warn("%s: %s; what does not fit is counted and left out", output_place(&output),
                error == -ENOBUFS ? "the collector does not keep up, and the buffer is full" : strerror(-error));
    }
}

/* Writes all rows into the trace. From then on, the live memory (shared memory that remains if the process is killed:
 * state/live.h) need not keep copies of these rows. */
static void write_rows_now(void)
{
    uint32_t rows[WS_LIVE_TABLES] = { 0 };
    live_flush_begins();
    trace_add_dictionaries();
    complain(output_flush(&output));
#define COUNT(family, limit) rows[WS_FAMILY_##family] = registry.family.emitted;
    REGISTRY_TABLES(COUNT)
#undef COUNT
    live_flushed(ws_encoder_file_id(output.encoder), ws_encoder_bytes(output.encoder), rows);
}

/* Adds the row to the trace. Until write_rows_now has written the row, a copy stays in the live memory, which remains
 * if the process is killed (state/live.h). */
void trace_add(enum ws_family family, const void *row)
{
    if (!open_now)
        return;
    if (!live_add_row(family, row)) {
        write_rows_now();
        live_add_row(family, row);
    }
    complain(ws_encoder_add(output.encoder, family, row));
}

static void add_table(struct registry_table *table, enum ws_family family)
{
    uint32_t count = atomic_load_explicit(&table->count, memory_order_acquire);
    for (; table->emitted < count; table->emitted++)
        complain(ws_encoder_add(output.encoder, family, registry_row(table, table->emitted + 1)));
}

void trace_add_dictionaries(void)
{
    if (!open_now)
        return;
#define TABLE(family, limit) add_table(&registry.family, WS_FAMILY_##family);
    REGISTRY_TABLES(TABLE)
#undef TABLE
}

static void add_functions(void)
{
    for (uint32_t id = 0; id < WS_ID_COUNT; id++) {
        const char *name = resolve_table[id].symbol;
        struct ws_driver_function row = { .id = id + 1,
                                          .family = resolve_table[id].family,
                                          .name = { name, (uint32_t)strlen(name) } };
        trace_add(WS_FAMILY_driver_function, &row);
    }
}

static int said(int error)
{
    if (error)
        ws_warn("cannot write %s: %s; nothing is recorded", output_place(&output), strerror(-error));
    return error;
}

int trace_create(void)
{
    return said(output_create(&output));
}

/* Writes the first rows of a new trace: the rows of all dictionaries (tables of contexts, kernels …), even if an
 * earlier trace of this process has these rows. */
static void begin_rows(void)
{
    failed = false;
    losses_refused = 0;
    atomic_store_explicit(&bytes, 0, memory_order_relaxed);
#define TABLE(family, limit) registry.family.emitted = 0;
    REGISTRY_TABLES(TABLE)
#undef TABLE
    open_now = true;
    add_functions();
    write_rows_now();
}

int trace_begin(void)
{
    int error = said(output_begin(&output));
    if (!error)
        begin_rows();
    return error;
}

int trace_begin_in(int file, const char *name)
{
    int error = output_begin_in(&output, file, name);
    if (!error)
        begin_rows();
    return error;
}

bool trace_is_open(void)
{
    return open_now;
}

uint64_t trace_unwritten(void)
{
    if (!open_now)
        return 0;
    return ws_encoder_lost(output.encoder, WS_FAMILY_op) + ws_encoder_lost(output.encoder, WS_FAMILY_call) +
           ws_encoder_lost(output.encoder, WS_FAMILY_collective);
}

bool trace_flush(void)
{
    if (!open_now)
        return true;
    write_rows_now();
    atomic_store_explicit(&bytes, ws_encoder_bytes(output.encoder), memory_order_relaxed);
    uint64_t before = losses_refused;
    losses_refused = ws_encoder_lost(output.encoder, WS_FAMILY_loss);
    return losses_refused == before;
}

bool trace_hear(bool recording, struct link_wishes *wishes)
{
    return open_now && output_hear(&output, recording, wishes);
}

void trace_tell_progress(uint32_t number, const uint8_t *progress, size_t size)
{
    output_tell_progress(&output, number, progress, size);
}

uint64_t trace_bytes(void)
{
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}

void trace_say(const char *key, const char *value)
{
    if (open_now)
        output_say(&output, key, value);
}

void trace_close(void)
{
    if (!open_now)
        return;
    open_now = false;
    int error = output_close(&output);
    if (error && error != -ECONNABORTED && !failed)
        ws_warn("%s: %s; the trace may lack its end", output_place(&output), strerror(-error));
}
