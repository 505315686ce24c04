#include "collector/metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LABELS_MAX = 8 };

/* The metric family to write, and the labels of a process or device. */
struct writing {
    struct metrics_text *text;
    const struct metrics_family *family;
    struct metrics_label labels[LABELS_MAX];
    size_t count;
};

static void label(struct writing *writing, const char *name, const char *value)
{
    writing->labels[writing->count++] = (struct metrics_label){ name, value };
}

static void sample(struct writing *writing, uint64_t value)
{
    metrics_sample(writing->text, writing->family, writing->labels, writing->count, value);
}

/* Writes a sample with one more label, `name`="`value`". Skips counts of 0, because most values never occur. */
static void sample_of(struct writing *writing, const char *name, const char *value, uint64_t count)
{
    if (!count)
        return;
    label(writing, name, value);
    sample(writing, count);
    writing->count--;
}

static void sample_ns_of(struct writing *writing, const char *name, const char *value, int64_t ns)
{
    label(writing, name, value);
    metrics_sample_ns(writing->text, writing->family, writing->labels, writing->count, ns);
    writing->count--;
}

static void sample_ns(struct writing *writing, int64_t ns)
{
    metrics_sample_ns(writing->text, writing->family, writing->labels, writing->count, ns);
}

/* --- of a device -------------------------------------------------------------------------------- */

static void write_launches(struct writing *to, const struct figures_device *device)
{
    static const char *const classes[FIGURES_CLASSES] = {
        [WS_OP_UNKNOWN] = "unknown",
        [WS_OP_KERNEL] = "kernel",
        [WS_OP_COPY] = "copy",
        [WS_OP_MEMSET] = "memset",
        [WS_OP_GRAPH] = "graph",
        [WS_OP_HOST_FUNCTION] = "host_function",
        [WS_OP_PREFETCH] = "prefetch",
        [WS_OP_MEMORY_OP] = "memory_operation",
        [WS_OP_DECOMPRESS] = "decompress",
        [WS_OP_INTEROP] = "interop",
        [FIGURES_CLASS_COMMUNICATION] = "communication",
    };
    for (size_t i = 0; i < FIGURES_CLASSES; i++)
        sample_of(to, "class", classes[i], device->launches[i]);
}

static void write_copies(struct writing *to, const struct figures_device *device)
{
    static const char *const directions[FIGURES_DIRECTIONS] = { "unknown", "host_to_device", "device_to_host",
                                                                "device_to_device", "host_to_host" };
    for (size_t i = 0; i < FIGURES_DIRECTIONS; i++)
        sample_of(to, "direction", directions[i], device->copied_bytes[i]);
}

static void write_busy(struct writing *to, const struct figures_device *device)
{
    sample_ns(to, device->busy_ns);
}

static void write_groups(struct writing *to, const struct figures_device *device)
{
    static const char *const groups[FIGURES_GROUPS] = { "compute", "communication", "memory" };
    for (size_t i = 0; i < FIGURES_GROUPS; i++)
        sample_ns_of(to, "class", groups[i], device->group_ns[i]);
}

static void write_gaps(struct writing *to, const struct figures_device *device)
{
    static const char *const causes[FIGURES_CAUSE_COUNT] = {
#define CAUSE(name, text) text,
        FIGURES_CAUSES(CAUSE)
#undef CAUSE
    };
    for (size_t i = 0; i < FIGURES_CAUSE_COUNT; i++)
        sample_ns_of(to, "cause", causes[i], device->gap_ns[i]);
}

static void write_exposed(struct writing *to, const struct figures_device *device)
{
    sample_ns(to, device->exposed_ns);
}

static void write_storm(struct writing *to, const struct figures_device *device)
{
    sample(to, device->storm);
}

static void write_late(struct writing *to, const struct figures_device *device)
{
    sample(to, device->late);
}

/* --- of a process ------------------------------------------------------------------------------- */

static void write_connected(struct writing *to, const struct figures_process *process)
{
    sample(to, process->streams > 0);
}

static void write_trace_bytes(struct writing *to, const struct figures_process *process)
{
    sample(to, process->trace_bytes);
}

static void write_records(struct writing *to, const struct figures_process *process)
{
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        sample_of(to, "family", ws_family_name(i), process->records[i]);
}

static void write_lost(struct writing *to, const struct figures_process *process)
{
    static const char *const reasons[WS_LOSS_COUNT + 1] = {
#define LOSS(name, text) #name,
        WS_LOSSES(LOSS)
#undef LOSS
            "OTHER"
    };
    for (size_t i = 0; i <= WS_LOSS_COUNT; i++) {
        char reason[40] = "";
        for (size_t at = 0; reasons[i][at] && at < sizeof(reason) - 1; at++)
            reason[at] = (char)tolower((unsigned char)reasons[i][at]);
        sample_of(to, "reason", reason, process->lost[i]);
    }
}

static void write_salvaged(struct writing *to, const struct figures_process *process)
{
    sample(to, process->salvaged);
}

static void write_untrusted(struct writing *to, const struct figures_process *process)
{
    sample(to, process->untrusted);
}

/* Without --slow-step, slow steps are not counted, so there is no sample. */
static void write_slow_steps(struct writing *to, const struct figures_process *process)
{
    if (process->all->slow_factor > 0)
        sample(to, process->slow_steps);
}

static void write_refused(struct writing *to, const struct figures_process *process)
{
    sample(to, process->refused_bytes);
}

/* --- the list ----------------------------------------------------------------------------------- */

/* A metric family that has a sample for every device, or for every process. */
struct row {
    struct metrics_family family;
    void (*of_device)(struct writing *to, const struct figures_device *device);
    void (*of_process)(struct writing *to, const struct figures_process *process);
};

static const struct row rows[] = {
    { { "wallshim_launches", "", "Operations that ran on the device, by class.", METRICS_COUNTER },
      write_launches,
      NULL },
    { { "wallshim_copied_bytes", "bytes", "Bytes of copies, by direction.", METRICS_COUNTER }, write_copies, NULL },
    { { "wallshim_device_busy_seconds", "seconds", "Time in which any operation of the process ran on the device.",
        METRICS_COUNTER },
      write_busy,
      NULL },
    { { "wallshim_device_class_seconds", "seconds",
        "Time in which operations of this class ran on the device; classes may overlap.", METRICS_COUNTER },
      write_groups,
      NULL },
    { { "wallshim_device_gap_seconds", "seconds",
        "Time between operations in which the device did nothing for the process, by cause as far as known at once.",
        METRICS_COUNTER },
      write_gaps,
      NULL },
    { { "wallshim_exposed_communication_seconds", "seconds",
        "Time in which communication ran on the device and no compute did.", METRICS_COUNTER },
      write_exposed,
      NULL },
    { { "wallshim_launch_storm", "",
        "1: the device waits for launches of kernels that are shorter than their launches take.", METRICS_GAUGE },
      write_storm,
      NULL },
    { { "wallshim_late_operations", "", "Operations that came too late to count with all of their time.",
        METRICS_COUNTER },
      write_late,
      NULL },
    { { "wallshim_process_connected", "", "1: the process is connected to the collector.", METRICS_GAUGE },
      NULL,
      write_connected },
    { { "wallshim_trace_bytes", "bytes", "Bytes of the trace that were taken.", METRICS_COUNTER },
      NULL,
      write_trace_bytes },
    { { "wallshim_records_received", "", "Records in frames that were taken, by family.", METRICS_COUNTER },
      NULL,
      write_records },
    { { "wallshim_records_lost", "", "What the recorder left out, by reason, as it counted itself.",
        METRICS_COUNTER },
      NULL,
      write_lost },
    { { "wallshim_records_salvaged", "", "Records that were taken from the memory of a process that ended suddenly.",
        METRICS_COUNTER },
      NULL,
      write_salvaged },
    { { "wallshim_records_untrusted", "", "Records left out of the live figures, as their values cannot be.",
        METRICS_COUNTER },
      NULL,
      write_untrusted },
    { { "wallshim_slow_steps", "", "Steps that took as many times the median as --slow-step says.", METRICS_COUNTER },
      NULL,
      write_slow_steps },
    { { "wallshim_refused_bytes", "bytes", "Bytes that were refused, as they were no trace.", METRICS_COUNTER },
      NULL,
      write_refused },
};

static void write_row(struct metrics_text *text, const struct row *row, const struct figures *figures)
{
    metrics_begin_family(text, &row->family);
    for (const struct figures_process *process = figures->first; process; process = process->next) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", (int)process->pid);
        struct writing to = { .text = text, .family = &row->family };
        label(&to, "job", process->job);
        label(&to, "host", process->host);
        label(&to, "rank", process->rank);
        label(&to, "pid", pid);
        if (row->of_process)
            row->of_process(&to, process);
        for (const struct figures_device *device = process->devices; row->of_device && device;
             device = device->next) {
            label(&to, "device", device->uuid);
            if (device->used)
                row->of_device(&to, device);
            to.count--;
        }
    }
}

static void write_one(struct metrics_text *text, const char *name, const char *unit, enum metrics_type type,
                      uint64_t value, const char *help)
{
    const struct metrics_family family = { name, unit, help, type };
    metrics_begin_family(text, &family);
    metrics_sample(text, &family, NULL, 0, value);
}

static void write_time(struct metrics_text *text, const char *name, enum metrics_type type, int64_t ns,
                       const char *help)
{
    const struct metrics_family family = { name, "seconds", help, type };
    metrics_begin_family(text, &family);
    metrics_sample_ns(text, &family, NULL, 0, ns);
}

static void write_dumps(struct metrics_text *text, const struct metrics_collector *own)
{
    const struct metrics_family dumps = { "wallshim_collector_dumps", "", "Dumps that were written, by cause.",
                                          METRICS_COUNTER };
    metrics_begin_family(text, &dumps);
    for (size_t i = 0; i < METRICS_DUMPS; i++) {
        const struct metrics_label cause = { "cause", own->dumps[i].cause };
        metrics_sample(text, &dumps, &cause, 1, own->dumps[i].written);
    }
}

static void write_own(struct metrics_text *text, const struct figures *figures, const struct metrics_collector *own)
{
    const struct metrics_family build = { "wallshim_build", "", "Version of the collector.", METRICS_INFO };
    const struct metrics_family records = { "wallshim_collector_records_received", "",
                                            "Records of all processes, also of those that ended long ago.",
                                            METRICS_COUNTER };
    const struct metrics_label version = { "version", WS_VERSION };
    uint64_t all = 0;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        all += figures->records[i];
    metrics_begin_family(text, &build);
    metrics_sample(text, &build, &version, 1, 1);
    metrics_begin_family(text, &records);
    metrics_sample(text, &records, NULL, 0, all);
    write_one(text, "wallshim_collector_clients", "", METRICS_GAUGE, own->clients, "Connections that are open.");
    write_one(text, "wallshim_collector_clients_cut_off", "", METRICS_COUNTER, own->cut_off,
              "Connections that broke the rules.");
    write_one(text, "wallshim_collector_clients_refused", "", METRICS_COUNTER, own->refused_clients,
              "Connections that were refused before they had a trace.");
    write_one(text, "wallshim_collector_refused_bytes", "bytes", METRICS_COUNTER, own->refused_bytes,
              "Bytes of connections that never had a trace.");
    write_one(text, "wallshim_collector_hangs", "", METRICS_COUNTER, own->hangs, "Hangs of jobs that were found.");
    write_one(text, "wallshim_collector_jobs_hanging", "", METRICS_GAUGE, own->hanging, "Jobs that hang now.");
    write_dumps(text, own);
    write_one(text, "wallshim_collector_processes_untracked", "", METRICS_COUNTER, figures->untracked,
              "Connections without live figures, as there are too many processes.");
    write_one(text, "wallshim_collector_frames_undecoded", "", METRICS_COUNTER, figures->undecoded,
              "Frames that the live figures lack, as they could not be decoded.");
    write_one(text, "wallshim_collector_frames_skipped", "", METRICS_COUNTER, figures->skipped,
              "Frames that the live figures lack, as decoding them would have slowed the collector.");
    write_one(text, "wallshim_collector_live_memory_bytes", "bytes", METRICS_GAUGE, figures->memory.used,
              "Memory of the tables behind the live figures.");
    write_one(text, "process_resident_memory_bytes", "bytes", METRICS_GAUGE, own->resident_bytes,
              "Resident memory of the collector.");
    write_time(text, "process_cpu_seconds", METRICS_COUNTER, own->processor_ns, "Processor time of the collector.");
    write_time(text, "process_start_time_seconds", METRICS_GAUGE, own->start_ns,
               "When the collector began, in seconds since 1970.");
}

void metrics_write(struct metrics_text *text, const struct figures *figures,
                   const struct metrics_collector *collector)
{
    write_own(text, figures, collector);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        write_row(text, &rows[i], figures);
    metrics_end(text);
}
