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

/* `name` is given without "_total" and "_info", which are added when it is written. `unit` is the
 * name's last word, or "" if the name has no unit. */
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

/* Writes a sample of a time: converts `ns` to seconds. */
void metrics_sample_ns(struct metrics_text *text, const struct metrics_family *family,
                       const struct metrics_label *labels, size_t label_count, int64_t ns);

/* Ends the text. To be called once, after all families. */
void metrics_end(struct metrics_text *text);

const char *metrics_content_type(enum metrics_format format);

/* Chooses the format by a request's Accept header, which may be NULL. */
enum metrics_format metrics_negotiate(const char *accept);

#endif
