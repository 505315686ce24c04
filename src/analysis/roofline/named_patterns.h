/* Finds norms, rotary embeddings and optimizers that a program computes with several kernels, although PyTorch has
 * one fused kernel for each. A sequence of kernels that one of these fused kernels could replace is called a pattern.
 *
 * The search goes over the operations of a stream in order and looks for the sequences of pattern_table.h. Any other
 * kernel ends a sequence. If the trace has the framework's operators, the operator named in the table must have
 * launched the pattern's key kernel (the kernel that is rarest outside the pattern). If the trace has ranges of
 * optimizers, norms and rotary embeddings must be outside these ranges. If the trace has no operators, the names and
 * the order of the kernels alone suggest the pattern. A pattern counts only if it occurs often enough in a step: a
 * model has several layers and parameters, so a real pattern occurs several times.
 *
 * The saving is the measured time of the kernels minus the most time that the fused kernel would take
 * (ws_pattern.still). The backward pass of these patterns has other kernels and is not counted. The time between the
 * kernels is not counted either. */
#ifndef WALLSHIM_ANALYSIS_NAMED_PATTERNS_H
#define WALLSHIM_ANALYSIS_NAMED_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/roofline/pattern_table.h"
#include "report/analysis.h"

/* Sums over the occurrences of one kind of pattern. If there are steady steps, only occurrences in steady steps
 * count. */
struct ws_named {
    uint64_t count;
    /* number of kernels; for optimizers that update lists of parameters, number of passes over a list
     * (pattern_table.h) */
    uint64_t pieces;
    /* number of occurrences whose key piece (the pattern's rarest kernel) was launched by the expected operator; the
     * operators of all other occurrences are not known */
    uint64_t confirmed;
    int64_t total;    /* ns that the kernels took */
    int64_t fused;    /* ns that fused kernels would take at most */
    int64_t gap;      /* ns between the kernels */
    uint32_t example; /* index in ws_process.ops of the key piece of the first occurrence */
    /* id of the label (name) of the operator that launched the first confirmed key piece; 0: none */
    uint32_t operator;
    uint32_t range;  /* id of the label of the optimizer's range around the launch of `example`; 0: not known */
    bool counts;     /* the pattern occurs so often per step that it is no accident */
    bool is_advised; /* the report advises to fuse this pattern: `counts` is true, and the saving is large enough */
};

struct ws_track_named {
    struct ws_named kinds[WS_NAMED_KIND_COUNT];
    size_t steps; /* number of steady steps */
    /* by index in ws_track.order: 1 + enum ws_named_kind if the kernel belongs to a pattern, else 0. NULL: the device
     * runs no pattern */
    uint8_t *members;
};

extern const struct ws_analysis ws_analysis_named;

/* Does the kernel at this place (index in ws_track.order) belong to a pattern that gets advice? If so, the report
 * gives no other advice on fusing this kernel. */
static inline bool ws_named_has(const struct ws_track_named *result, size_t place)
{
    uint8_t member = result->members ? result->members[place] : 0;
    return member && result->kinds[member - 1].is_advised;
}

/* Returns the ns saved if one fused kernel replaced each occurrence: per steady step, or in the whole recording if
 * there are no steady steps. */
static inline int64_t ws_named_saving(const struct ws_track_named *result, enum ws_named_kind kind)
{
    const struct ws_named *named = &result->kinds[kind];
    return (named->total - named->fused) / (int64_t)(result->steps ? result->steps : 1);
}

/* defined in named_patterns_report.c */
int ws_named_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_named_advise(const struct ws_report *report, size_t subject, const void *result, struct ws_advice_list *list);

#endif
