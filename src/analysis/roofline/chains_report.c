#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/label.h"
#include "analysis/roofline/chains.h"
#include "analysis/roofline/unfused.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "model/source_code.h"

enum { LABEL_SIZE = 64, LABELS_SIZE = 400, NAMED_IN_A_ROW = 6 };

static const struct {
    const char *name, *label;
} proofs[WS_CHAIN_PROOF_COUNT] = {
    [WS_CHAIN_ADJACENT] = { "adjacent", "by names" },
    [WS_CHAIN_SHARES] = { "shares_a_buffer", "shared buffer" },
    [WS_CHAIN_WRITES_READS] = { "writes_then_reads", "write, read" },
};

static const char *const sources[] = { "arguments", "shape", "launch", "time", "allocated", "unknown" };

static void chains_label_of(const struct ws_report *report, const struct ws_chain_kernel *kernel,
                            char label[LABEL_SIZE])
{
    ws_kernel_label(label, LABEL_SIZE, ws_model_name(report->model, kernel->name)->text);
}

/* Writes the names of a chain's kernels: "gelu + mul + add". Repeated kernels become "3 × add". */
static void write_labels(const struct ws_report *report, const struct ws_track_chains *result,
                         const struct ws_chain *chain, char text[LABELS_SIZE])
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    char label[LABEL_SIZE], next[LABEL_SIZE];
    size_t used = 0, groups = 0;
    *text = 0;
    chains_label_of(report, kernels, label);
    for (uint32_t i = 0, same; i < chain->length && used < LABELS_SIZE; i += same) {
        if (groups++ == NAMED_IN_A_ROW) {
            snprintf(text + used, LABELS_SIZE - used, " + %u more", chain->length - i);
            return;
        }
        for (same = 1; i + same < chain->length; same++) {
            chains_label_of(report, &kernels[i + same], next);
            if (strcmp(label, next) != 0)
                break;
        }
        const char *plus = i ? " + " : "";
        used += (size_t)(same > 1 ? snprintf(text + used, LABELS_SIZE - used, "%s%u × %s", plus, same, label)
                                  : snprintf(text + used, LABELS_SIZE - used, "%s%s", plus, label));
        memcpy(label, next, sizeof(label));
    }
}

/* chains_saving_of returns the ns that fusion saves in a pattern's kernels, and gap_of the ns between these kernels.
 * Both figures are per steady step, or for the whole recording if there are no steady steps. */
static int64_t chains_saving_of(const struct ws_track_chains *result, const struct ws_chain *chain)
{
    return result->steps ? chain->steady_saving / (int64_t)result->steps : chain->saving;
}

static int64_t gap_of(const struct ws_track_chains *result, const struct ws_chain *chain)
{
    return result->steps ? chain->steady_gap / (int64_t)result->steps : chain->gap;
}

static double chains_count_of(const struct ws_track_chains *result, const struct ws_chain *chain)
{
    return result->steps ? (double)chain->steady / (double)result->steps : (double)chain->count;
}

/* Writes a count per step as text: the pattern's occurrences per step times `each`. */
static const char *count_text(const struct ws_track_chains *result, const struct ws_chain *chain, uint64_t each,
                              char text[WS_FORMAT_SIZE])
{
    return ws_format_each(text, (result->steps ? chain->steady : chain->count) * each, result->steps);
}

/* Converts an amount (bytes …) that is summed over all occurrences of the pattern to the amount per step. */
static double chains_amount_of(const struct ws_track_chains *result, const struct ws_chain *chain, uint64_t amount)
{
    return (double)amount / (double)chain->count * chains_count_of(result, chain);
}

struct ws_chains_sum ws_chains_sum(const struct ws_track_chains *result)
{
    const struct ws_chain *chains = result->chains.data;
    struct ws_chains_sum sum = { 0 };
    for (size_t i = 0; i < result->chains.count; i++) {
        int64_t kernels = chains_saving_of(result, &chains[i]), gaps = gap_of(result, &chains[i]);
        sum.kernels = ws_sum(sum.kernels, kernels);
        sum.gaps = ws_sum(sum.gaps, gaps);
        sum.chains += kernels > 0 || gaps > 0;
        if (chains[i].bytes_source < WS_BYTES_KNOWN)
            sum.waste += chains_amount_of(result, &chains[i], chains[i].bytes);
    }
    return sum;
}

static void chains_print_notes(const struct ws_report *report, size_t subject, const struct ws_track_chains *result,
                               struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    char count[WS_FORMAT_SIZE];
    if (result->left_out)
        ws_page_text(page, "%s more chains are left out: there are too many kinds.",
                     ws_format_count(count, result->left_out));
    if (result->graphs)
        ws_page_text(page, "%s launches of graphs were measured as a whole: chains inside them are not known.",
                     ws_format_count(count, result->graphs));
    if (track->untimed)
        ws_page_text(page, "%s operations without device times may lie between the kernels of a chain.",
                     ws_format_count(count, track->untimed));
}

static void bytes_cell(struct ws_table *table, const struct ws_track_chains *result, const struct ws_chain *chain,
                       uint64_t amount)
{
    char bytes[WS_FORMAT_SIZE];
    if (!amount)
        ws_table_cell(table, "–");
    else
        ws_table_cell(table, "%s%s", ws_chain_bytes_are_bound(chain) ? "≤ " : "",
                      ws_format_bytes(bytes, (uint64_t)chains_amount_of(result, chain, amount)));
}

static void print_chain(const struct ws_report *report, const struct ws_track_chains *result,
                        const struct ws_chain *chain, struct ws_table *table)
{
    char labels[LABELS_SIZE], launches[WS_FORMAT_SIZE];
    write_labels(report, result, chain, labels);
    ws_table_time(table, ws_sum(chains_saving_of(result, chain), gap_of(result, chain)));
    ws_table_time(table, chains_saving_of(result, chain));
    ws_table_cell(table, "%s", count_text(result, chain, chain->length - 1, launches));
    bytes_cell(table, result, chain, chain->moved);
    bytes_cell(table, result, chain, chain->moved ? chain->moved - chain->bytes : 0);
    bytes_cell(table, result, chain, chain->bytes);
    ws_table_cell(table, "%s", chain->bytes_source == WS_BYTES_UNKNOWN ? "–" : sources[chain->bytes_source]);
    ws_table_cell(table, "%s", proofs[chain->proof].label);
    ws_table_cell(table, "%s", labels);
}

void ws_chains_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "to win", false, false },
        { "in kernels", false, WS_NARROW_LEAVE_OUT },
        { "launches", false, WS_NARROW_LEAVE_OUT },
        { "moved", false, WS_NARROW_LEAVE_OUT },
        { "fused", false, WS_NARROW_LEAVE_OUT },
        { "waste", false, false },
        { "from", true, false },
        { "evidence", true, WS_NARROW_LEAVE_OUT },
        { "in a row", true, WS_NARROW_SHORTEN },
    };
    const struct ws_track_chains *result = memory;
    const struct ws_chain *chains = result->chains.data;
    struct ws_table table;
    char time[WS_FORMAT_SIZE];
    if (!ws_model_track(report->model, subject)->count) {
        ws_page_text(page, "Not known: no device times.");
        return;
    }
    if (!result->chains.count) {
        ws_page_text(page, "None: no pointwise kernels, norms, softmax or reductions follow one another.");
        chains_print_notes(report, subject, result, page);
        return;
    }
    ws_page_text(
        page,
        "Kernels in a row that one fused kernel could replace%s. A kernel's waste is the data that it writes and the "
        "next kernel reads. \"to win\" is an upper limit. It adds up all launches but one, the time between the "
        "kernels, and the time to move the waste at the bandwidth that the kernels reach. If the bytes are not "
        "known, "
        "the time of all kernels but the longest stands for the waste.",
        result->steps ? ", per steady step" : "");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t most = ws_page_rows(page, result->chains.count), shown = 0;
    for (; shown < most &&
           (!shown || ws_sum(chains_saving_of(result, &chains[shown]), gap_of(result, &chains[shown])) > 0);
         shown++)
        print_chain(report, result, &chains[shown], &table);
    ws_table_finish(&table);
    struct ws_chains_sum sum = ws_chains_sum(result);
    if (shown < sum.chains)
        ws_page_text(page, "and %zu more; all together %s (--top 0 shows %s)", sum.chains - shown,
                     ws_format_time(time, ws_sum(sum.kernels, sum.gaps)), sum.chains - shown > 1 ? "them" : "it");
    size_t useless = result->chains.count - ws_max(shown, sum.chains);
    if (useless)
        ws_page_text(page, "and %zu more with nothing to win%s", useless, result->steps ? " in a steady step" : "");
    chains_print_notes(report, subject, result, page);
}

static int chains_add_kernels(const struct ws_report *report, const struct ws_track_chains *result,
                              const struct ws_chain *chain, json_t *row)
{
    json_t *list = json_array();
    int status = json_object_set_new(row, "kernels", list);
    for (uint32_t i = 0; i < chain->length && !status; i++)
        status = json_array_append_new(
            list, ws_json_text(ws_model_name(report->model, ws_chain_kernels(result, chain)[i].name)->text));
    return status;
}

static json_t *chain_json(const struct ws_report *report, const struct ws_track_chains *result,
                          const struct ws_chain *chain)
{
    char labels[LABELS_SIZE];
    json_t *row = json_object();
    write_labels(report, result, chain, labels);
    int status = json_object_set_new(row, "name", ws_json_text(labels));
    status |= chains_add_kernels(report, result, chain, row);
    status |= ws_json_set(row, "count", (int64_t)chain->count);
    status |= ws_json_set(row, "steady_count", (int64_t)chain->steady);
    status |= ws_json_set(row, "total_ns", chain->total);
    status |= ws_json_set(row, "longest_ns", chain->longest);
    status |= ws_json_set(row, "fused_ns", chain->fused);
    status |= ws_json_set(row, "gap_ns", chain->gap);
    status |= ws_json_set(row, "saving_ns", chain->saving);
    if (result->steps) {
        status |= ws_json_set(row, "saving_ns_per_step", chains_saving_of(result, chain));
        status |= ws_json_set(row, "gap_ns_per_step", gap_of(result, chain));
    }
    status |= ws_json_set(row, "launches_saved", (int64_t)(chain->count * (chain->length - 1)));
    status |= json_object_set_new(row, "confirmed", json_string(proofs[chain->proof].name));
    status |= ws_json_set(row, "examined", (int64_t)chain->examined);
    if (chain->moved) {
        status |= ws_json_set(row, "bytes_now", (int64_t)chain->moved);
        status |= ws_json_set(row, "bytes_fused", (int64_t)(chain->moved - chain->bytes));
    }
    if (chain->bytes_source != WS_BYTES_UNKNOWN) {
        status |= ws_json_set(row, "bytes_again", (int64_t)chain->bytes);
        status |= json_object_set_new(row, "bytes_source", json_string(sources[chain->bytes_source]));
    }
    if (!status)
        return row;
    json_decref(row);
    return NULL;
}

int ws_chains_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_chains *result = memory;
    const struct ws_chain *chains = result->chains.data;
    json_t *list = json_array();
    (void)subject;
    int status = json_object_set_new(object, "chains", list);
    status |= ws_json_set(object, "chain_count", (int64_t)result->chains.count);
    if (result->left_out)
        status |= ws_json_set(object, "chains_left_out", (int64_t)result->left_out);
    size_t shown = report->top && report->top < result->chains.count ? report->top : result->chains.count;
    for (size_t i = 0; i < shown && !status; i++)
        status = json_array_append_new(list, chain_json(report, result, &chains[i]));
    return status ? -ENOMEM : 0;
}

/* Does the chain contain a kernel of cuDNN? Users cannot put such a kernel into a kernel of their own, but a compiler
 * can generate another kernel in its place. */
static bool has_cudnn(const struct ws_report *report, const struct ws_track_chains *result,
                      const struct ws_chain *chain)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    for (uint32_t i = 0; i < chain->length; i++) {
        const char *name = ws_model_name(report->model, kernels[i].name)->text;
        if (strstr(name, "cudnn") || strstr(name, "bn_fw_") || strstr(name, "bn_bw_"))
            return true;
    }
    return false;
}

static int advise_one(const struct ws_report *report, size_t subject, const struct ws_track_chains *result,
                      const struct ws_chain *chain, struct ws_advice_list *list)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    char labels[LABELS_SIZE], what[LABELS_SIZE + 160], where[256], code[WS_SOURCE_CODE], evidence[320],
        bytes[WS_FORMAT_SIZE], gap[WS_FORMAT_SIZE], times[WS_FORMAT_SIZE];
    write_labels(report, result, chain, labels);
    count_text(result, chain, 1, times);
    snprintf(what, sizeof(what), "fuse %s: %u kernels in a row%s", labels, chain->length,
             has_cudnn(report, result, chain) ? "; torch.compile can, as it replaces cuDNN's batch norm" : "");
    ws_source_of_op(process, chain->example, where, sizeof(where));
    ws_source_code_of_op(process, chain->example, code);
    bool once = !strcmp(times, "1");
    int length = snprintf(evidence, sizeof(evidence), "%s%s%s", once ? "once" : times, once ? "" : " times",
                          result->steps ? " a step" : "");
    if (chain->bytes_source != WS_BYTES_UNKNOWN)
        length += snprintf(evidence + length, sizeof(evidence) - (size_t)length, ", %s%s moved again",
                           ws_chain_bytes_are_bound(chain) ? "at most " : "",
                           ws_format_bytes(bytes, (uint64_t)chains_amount_of(result, chain, chain->bytes)));
    /* The saving of this advice contains only time in which the device is busy. So the evidence names the time
     * between the kernels separately. The section Chains of the report prints the sum of the saving and the time
     * between the kernels. */
    if (gap_of(result, chain) > 0)
        length += snprintf(evidence + length, sizeof(evidence) - (size_t)length, ", another %s between the kernels",
                           ws_format_time(gap, gap_of(result, chain)));
    snprintf(evidence + length, sizeof(evidence) - (size_t)length, "; %s",
             chain->proof == WS_CHAIN_ADJACENT ? "by names and order alone, not confirmed by buffers"
             : chain->proof == WS_CHAIN_SHARES ? "confirmed by buffers: each shares one with the next"
                                               : "confirmed by buffers: each writes what the next reads");
    struct ws_advice advice = { .name = "fusion",
                                .part = WS_PART_OTHER_COMPUTE,
                                .saving_ns = chains_saving_of(result, chain),
                                .what = what,
                                .where = where,
                                .code = code,
                                .evidence = evidence,
                                .track = (uint32_t)subject };
    return ws_advice_add(list, &advice);
}

/* Does other advice already propose a fused kernel: attention for a part of the chain, or a norm, rotary embedding or
 * optimizer for the whole chain? */
static bool has_other_advice(const struct ws_report *report, size_t subject, const struct ws_track_chains *result,
                             const struct ws_chain *chain)
{
    const struct ws_track_unfused *unfused = ws_report_result(report, &ws_analysis_unfused, subject);
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    for (uint32_t i = 0; i < chain->length; i++)
        if (ws_unfused_has_kernel(unfused, kernels[i].name))
            return true;
    return 2 * chain->named > chain->count;
}

int ws_chains_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_chains *result = memory;
    const struct ws_chain *chains = result->chains.data;
    int64_t least = ws_activity_known(activity) / 100 * WS_CHAIN_ADVISED_PERCENT;
    int status = 0;
    for (size_t i = 0; i < result->chains.count && !status; i++)
        if (chains[i].total >= least && chains_saving_of(result, &chains[i]) > 0 &&
            !has_other_advice(report, subject, result, &chains[i]))
            status = advise_one(report, subject, result, &chains[i], list);
    return status;
}
