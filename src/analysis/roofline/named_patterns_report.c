#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/roofline/named_patterns.h"
#include "model/source_code.h"

enum { WHAT = 240, EVIDENCE = 320, PROOF = 64 };

/* The parts of the advice on a kind of pattern. The text consists of `begin`, the number of the pattern's kernels,
 * and `end`. For optimizers, the text also has the name of PyTorch's class and the arguments to pass to it
 * (`switches`). PyTorch has a fused kernel for RMSNorm since pytorch/pytorch#153666 (in nightly builds of August
 * 2025, after release 2.8). */
static const struct {
    const char *name, *begin, *pieces, *end, *switches;
} texts[WS_NAMED_KIND_COUNT] = {
    [WS_NAMED_LAYER_NORM] = { "unfused_layer_norm", "compute LayerNorm in one kernel instead of", "",
                              "torch.nn.functional.layer_norm (or group_norm, batch_norm: by its dimensions), or "
                              "torch.compile",
                              NULL },
    [WS_NAMED_RMS_NORM] = { "unfused_rms_norm", "compute RMSNorm in one kernel instead of", "",
                            "torch.nn.RMSNorm (fused from PyTorch 2.9 on), torch.compile, or that of Liger, Apex or "
                            "vLLM",
                            NULL },
    [WS_NAMED_ROPE] = { "unfused_rope", "compute rotary embeddings (RoPE) in one kernel instead of", "",
                        "torch.compile, or that of flash-attn, Liger or Transformer Engine", NULL },
    [WS_NAMED_LOOP_OPTIMIZER] = { "loop_optimizer", "update all parameters together, not each by", " kernels",
                                  "torch.optim.", "(fused=True), or foreach=True" },
    [WS_NAMED_FOREACH_OPTIMIZER] = { "foreach_optimizer", "update parameters in one pass instead of", "",
                                     "torch.optim.", "(fused=True)" },
};

/* Returns the class of the PyTorch optimizer that the range names, if this class is Adam or SGD: "SGD" for
 * "Optimizer.step#SGD.step". Returns "AdamW" in all other cases. */
static const char *optimizer_of(const struct ws_process *process, uint32_t label)
{
    static const char *const classes[] = { "Adam", "SGD" };
    const struct ws_label *range = label ? ws_entries_find(&process->labels, label) : NULL;
    for (size_t i = 0; range && i < sizeof(classes) / sizeof(classes[0]); i++) {
        char name[64];
        size_t length = (size_t)snprintf(name, sizeof(name), WS_OPTIMIZER_RANGE "%s.step", classes[i]);
        if (range->text.length == length && !memcmp(range->text.data, name, length))
            return classes[i];
    }
    return "AdamW";
}

static void write_what(const struct ws_process *process, const struct ws_named *named, enum ws_named_kind kind,
                       char text[WHAT])
{
    const char *switches = texts[kind].switches;
    snprintf(text, WHAT, "%s %.0f%s: %s%s%s", texts[kind].begin, (double)named->pieces / (double)named->count,
             texts[kind].pieces, texts[kind].end, switches ? optimizer_of(process, named->range) : "",
             switches ? switches : "");
}

/* Writes the evidence for a kind of pattern: the operator that launched its key piece (its rarest kernel), or only
 * the names and the order of the kernels. */
static void write_proof(const struct ws_process *process, const struct ws_named *named, char text[PROOF])
{
    const struct ws_label *label = named->operator? ws_entries_find(&process->labels, named->operator) : NULL;
    if (label && 2 * named->confirmed > named->count)
        snprintf(text, PROOF, "confirmed by its %.*s", (int)label->text.length, label->text.data);
    else
        snprintf(text, PROOF, "by names and order of the kernels");
}

static void write_named_evidence(const struct ws_process *process, const struct ws_track_named *result,
                                 const struct ws_named *named, char text[EVIDENCE])
{
    char proof[PROOF];
    int64_t steps = (int64_t)(result->steps ? result->steps : 1);
    const char *a_step = result->steps ? " a step" : "";
    char count[WS_FORMAT_SIZE], total[WS_FORMAT_SIZE], fused[WS_FORMAT_SIZE], gap[WS_FORMAT_SIZE];
    write_proof(process, named, proof);
    ws_format_time(gap, named->gap / steps);
    snprintf(text, EVIDENCE, "%s times%s, measured %s%s; fused at most %s, computed%s%s%s; %s",
             ws_format_each(count, named->count, result->steps), a_step, ws_format_time(total, named->total / steps),
             a_step, ws_format_time(fused, named->fused / steps), named->gap ? "; another " : "",
             named->gap ? gap : "", named->gap ? " between the kernels" : "", proof);
}

int ws_named_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_named *result = memory;
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    int status = 0;
    for (int kind = 0; kind < WS_NAMED_KIND_COUNT && !status; kind++) {
        const struct ws_named *named = &result->kinds[kind];
        char what[WHAT], evidence[EVIDENCE], where[256], code[WS_SOURCE_CODE];
        if (!named->is_advised)
            continue;
        write_what(process, named, (enum ws_named_kind)kind, what);
        write_named_evidence(process, result, named, evidence);
        ws_source_of_op(process, named->example, where, sizeof(where));
        ws_source_code_of_op(process, named->example, code);
        status = ws_advice_add(list, &(struct ws_advice){ .name = texts[kind].name,
                                                          .part = WS_PART_OTHER_COMPUTE,
                                                          .saving_ns = ws_named_saving(result, kind),
                                                          .what = what,
                                                          .where = where,
                                                          .code = code,
                                                          .evidence = evidence,
                                                          .track = (uint32_t)subject });
    }
    return status;
}

int ws_named_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_named *result = memory;
    json_t *list = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "named_patterns", list);
    for (int kind = 0; kind < WS_NAMED_KIND_COUNT && !status; kind++) {
        const struct ws_named *named = &result->kinds[kind];
        if (!named->counts)
            continue;
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "name", json_string(texts[kind].name));
        status |= ws_json_set(row, "count", (int64_t)named->count);
        status |= ws_json_set(row, "pieces", (int64_t)named->pieces);
        status |= ws_json_set(row, "confirmed", (int64_t)named->confirmed);
        status |= ws_json_set(row, "total_ns", named->total);
        status |= ws_json_set(row, "fused_ns", named->fused);
        status |= ws_json_set(row, "gap_ns", named->gap);
    }
    return status ? -ENOMEM : 0;
}
