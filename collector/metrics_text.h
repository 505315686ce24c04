/* Writes metrics in the two text formats that Prometheus reads: its own (0.0.4), and OpenMetrics 1.0. */
#ifndef WALLSHIM_COLLECTOR_METRICS_TEXT_H
#define WALLSHIM_COLLECTOR_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS, METRICS_FORMATS };

struct metrics_text {
    enum metrics_format format;
    char *bytes; /* from malloc */
    size_t size, capacity;
    bool failed; /* memory ran out */
};

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_INFO };

/* A name without its ending: "_total" of counters and "_info" are added here. The unit is "" or the name's last
 * word. */
struct metrics_family {
    const char *name, *unit, *help;
    enum metrics_type type;
};

struct metrics_label {
    const char *name, *value;
};

void metrics_begin_family(struct metrics_text *text, const struct metrics_family *family);

/* Writes a sample of the family. Values of labels are escaped. */
void metrics_sample(struct metrics_text *text, const struct metrics_family *family,
                    const struct metrics_label *labels, size_t label_count, uint64_t value);

/* For times: the value in seconds. */
void metrics_sample_ns(struct metrics_text *text, const struct metrics_family *family,
                       const struct metrics_label *labels, size_t label_count, int64_t ns);

/* To be called once, at the end. */
void metrics_end(struct metrics_text *text);

const char *metrics_content_type(enum metrics_format format);

/* Chooses the format by the header Accept of a request; NULL: there is none. */
enum metrics_format metrics_negotiate(const char *accept);

#endif
