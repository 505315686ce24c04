#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/page.h"
#include "report/peaks.h"
#include "command.h"
#include "hardware/roofline.h"
#include "reports.h"

static const struct tool_switch *roofline_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "op", 0, "OP", "gemm, pointwise or attention" },
        { "gpu", 'g', "NAME",
          "the GPU: a name such as h100 or \"a100 80gb pcie\" (see --list), a JSON file, or calibrated" },
        { "dtype", 'd', "TYPE",
          "fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4, or a name of torch's (default: bf16)" },
        { "m", 'm', "N", "gemm: rows of the result" },
        { "n", 'n', "N", "gemm: columns of the result" },
        { "k", 'k', "N", "gemm: length of each sum" },
        { "batch", 'b', "N", "gemm, attention: how many (default: 1)" },
        { "shape", 's', "DIMS", "pointwise: dimensions of the tensor, as 32x2048x4096 or 32,2048,4096" },
        { "flops-per-element", 'f', "X", "pointwise: FLOPs of one kernel for each element (default: 1)" },
        { "inputs", 'i', "N", "pointwise: tensors that a kernel reads (default: 1)" },
        { "kernels", 0, "N", "pointwise: how many in a row; compared with one fused kernel (default: 1)" },
        { "heads", 0, "N", "attention: number of heads (default: 1)" },
        { "queries", 0, "N", "attention: length of the query sequence" },
        { "keys", 0, "N", "attention: length of the key sequence (default: as the queries)" },
        { "head-size", 0, "N", "attention: elements of a head's vector (default: 128)" },
        { "causal", 0, NULL,
          "attention: a query sees only the keys before it. Fused attention then computes half of the scores, "
          "standard attention all" },
        { "list", 'l', NULL, "list the known GPUs, with their peaks and sources" },
        { "wide", 'w', NULL, "list: print all columns and whole sources, even in long lines" },
        { "json", 0, NULL, "the answer as JSON" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

/* One way to compute the operation, with its roof (the highest possible speed on the GPU). */
struct variant {
    const char *name;
    struct ws_work work;
    double launches;
    struct ws_roof roof; /* computed from `work`, after the read_… functions have filled it */
};

struct question {
    struct tool_gpu given;
    const struct ws_gpu *gpu;
    enum ws_precision precision;
    double element_bytes;
    struct variant variants[2]; /* [0]: without fusion; [1]: as one fused kernel, if the two are compared */
    bool ordinary;  /* the operation is no matrix product, so it runs on CUDA cores, not on tensor cores */
    double m, n, k; /* sizes of a GEMM's matrices; 0: not a GEMM */
    size_t count;
    char what[160];
};

/* Returns the number that a switch gives, or `without` if the switch is absent. If `without` is negative, the switch
 * is required. On failure, prints a line on stderr and returns NAN. */
static double roofline_number(const struct tool_arguments *arguments, const char *name, double without)
{
    const char *text = tool_value(arguments, name);
    char *end;
    if (!text && without >= 0)
        return without;
    if (!text) {
        tool_error("--%s is needed for --op %s", name, tool_value(arguments, "op"));
        return NAN;
    }
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= 0) || value > 1e15) {
        tool_error("--%s %s: not a number from 0 to 1e15", name, text);
        return NAN;
    }
    return value;
}

/* Like roofline_number, for sizes: a whole number of at least 1. */
static double whole(const struct tool_arguments *arguments, const char *name, double without)
{
    double value = roofline_number(arguments, name, without);
    if (isnan(value) || (value >= 1 && value == floor(value)))
        return value;
    tool_error("--%s %s: not a whole number from 1 on", name, tool_value(arguments, name));
    return NAN;
}

/* Returns the number of elements of a shape such as "32x2048x4096". On failure, prints a line on stderr and returns
 * NAN. */
static double roofline_elements_of(const char *shape)
{
    double gemm = 1;
    const char *at = shape;
    if (!shape) {
        tool_error("--shape is needed for --op pointwise");
        return NAN;
    }
    for (;;) {
        char *end;
        double size = strtod(at, &end);
        if (end == at || !(size >= 1) || size > 1e15 || size != floor(size))
            break;
        gemm *= size;
        if (!*end && gemm < 1e18)
            return gemm;
        if (*end != 'x' && *end != ',')
            break;
        at = end + 1;
    }
    tool_error("--shape %s: not dimensions such as 32x2048x4096", shape);
    return NAN;
}

static int read_gemm(const struct tool_arguments *arguments, struct question *question)
{
    double m = whole(arguments, "m", -1), n = isnan(m) ? NAN : whole(arguments, "n", -1);
    double k = isnan(n) ? NAN : whole(arguments, "k", -1), batch = isnan(k) ? NAN : whole(arguments, "batch", 1);
    if (isnan(batch))
        return TOOL_ERROR;
    question->variants[0] = (struct variant){ .name = "gemm",
                                              .work = ws_work_gemm(m, n, k, batch, question->element_bytes),
                                              .launches = 1 };
    question->count = 1;
    question->m = m;
    question->n = n;
    question->k = k;
    snprintf(question->what, sizeof(question->what), "gemm %.0f × %.0f × %.0f, batch %.0f", m, n, k, batch);
    return 0;
}

static int read_pointwise(const struct tool_arguments *arguments, struct question *question)
{
    double elements = roofline_elements_of(tool_value(arguments, "shape"));
    double flops = isnan(elements) ? NAN : roofline_number(arguments, "flops-per-element", 1);
    double inputs = isnan(flops) ? NAN : roofline_number(arguments, "inputs", 1);
    double kernels = isnan(inputs) ? NAN : whole(arguments, "kernels", 1);
    if (isnan(kernels))
        return TOOL_ERROR;
    question->ordinary = true;
    for (int fused = 0; fused <= (kernels > 1); fused++)
        question->variants[question->count++] = (struct variant){
            .name = fused         ? "fused"
                    : kernels > 1 ? "unfused"
                                  : "pointwise",
            .work = ws_work_chain(kernels, fused, elements, inputs, flops, question->element_bytes),
            .launches = fused ? 1 : kernels,
        };
    snprintf(question->what, sizeof(question->what), "%.0f pointwise %s over %s, %.4g %s an element", kernels,
             kernels > 1 ? "kernels" : "kernel", tool_value(arguments, "shape"), flops,
             flops == 1 ? "FLOP" : "FLOPs");
    return 0;
}

static int read_attention(const struct tool_arguments *arguments, struct question *question)
{
    struct ws_attention attention = { .causal = tool_value(arguments, "causal") != NULL };
    attention.queries = whole(arguments, "queries", -1);
    attention.keys = isnan(attention.queries) ? NAN : whole(arguments, "keys", attention.queries);
    attention.heads = isnan(attention.keys) ? NAN : whole(arguments, "heads", 1);
    attention.batch = isnan(attention.heads) ? NAN : whole(arguments, "batch", 1);
    attention.head_size = isnan(attention.batch) ? NAN : whole(arguments, "head-size", 128);
    if (isnan(attention.head_size))
        return TOOL_ERROR;
    if (attention.causal && attention.keys != attention.queries)
        return tool_error("--causal: only for as many keys as queries");
    for (int fused = 0; fused <= 1; fused++)
        question->variants[question->count++] =
            (struct variant){ .name = fused ? "fused" : "standard",
                              .work = ws_work_attention(&attention, fused, question->element_bytes),
                              .launches = fused ? 1 : 3 };
    snprintf(question->what, sizeof(question->what), "attention of %.0f × %.0f, %.0f %s of %.0f, batch %.0f%s",
             attention.queries, attention.keys, attention.heads, attention.heads > 1 ? "heads" : "head",
             attention.head_size, attention.batch, attention.causal ? ", causal" : "");
    return 0;
}

static const struct {
    const char *name;
    int (*read_question)(const struct tool_arguments *arguments, struct question *question);
} ops[] = { { "gemm", read_gemm }, { "pointwise", read_pointwise }, { "attention", read_attention } };

/* For --gpu calibrated, chooses the user's calibration. The user must have exactly one, because there is no trace
 * that tells which GPU is meant. */
static int choose_calibration(struct tool_gpu *given)
{
    struct ws_gpu_file *const *files = given->all.files.data;
    if (!given->calibrations)
        return 0;
    if (given->all.files.count > 1)
        return tool_error("--gpu calibrated: %zu GPUs are calibrated; name a file in %s", given->all.files.count,
                          given->all.folder);
    if (!given->all.files.count)
        return tool_error("--gpu calibrated: no GPU was calibrated yet; run wallshim calibrate");
    given->gpu = &files[0]->gpu;
    return 0;
}

/* Returns the precision with this name. Accepts our names of number types and those of PyTorch. */
static enum ws_precision tool_roofline_precision_of(const char *type)
{
    static const struct {
        const char *name;
        enum ws_precision precision;
    } others[] = {
        { "float64", WS_PRECISION_FP64 },    { "double", WS_PRECISION_FP64 },  { "float32", WS_PRECISION_FP32 },
        { "float", WS_PRECISION_FP32 },      { "float16", WS_PRECISION_FP16 }, { "half", WS_PRECISION_FP16 },
        { "bfloat16", WS_PRECISION_BF16 },   { "float8", WS_PRECISION_FP8 },   { "float8_e4m3fn", WS_PRECISION_FP8 },
        { "float8_e5m2", WS_PRECISION_FP8 },
    };
    if (!strncmp(type, "torch.", strlen("torch.")))
        type += strlen("torch.");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(type, others[i].name))
            return others[i].precision;
    return ws_precision_named(type);
}

static int read_question(const struct tool_arguments *arguments, struct question *question)
{
    const char *gpu = tool_value(arguments, "gpu"), *type = tool_value(arguments, "dtype"),
               *op = tool_value(arguments, "op");
    size_t at = 0;
    while (op && at < sizeof(ops) / sizeof(ops[0]) && strcmp(ops[at].name, op) != 0)
        at++;
    if (!op || at == sizeof(ops) / sizeof(ops[0]))
        return tool_error("--op: one of gemm, pointwise, attention; see wallshim roofline --help");
    if (!gpu)
        return tool_error("--gpu is needed, such as h100; see wallshim roofline --list");
    if (tool_gpu_init(&question->given, arguments) || choose_calibration(&question->given))
        return TOOL_ERROR;
    question->gpu = question->given.gpu;
    question->precision = type ? tool_roofline_precision_of(type) : WS_PRECISION_BF16;
    if (question->precision == WS_PRECISION_COUNT)
        return tool_error("--dtype %s: one of fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4", type);
    if (ws_gpu_peak(question->gpu, question->precision) <= 0)
        return tool_error("%s has no peak at %s", question->gpu->name, ws_precision_name(question->precision));
    question->element_bytes = ws_precision_bits(question->precision) / 8.0;
    int status = ops[at].read_question(arguments, question);
    for (size_t i = 0; i < question->count && !status; i++)
        question->variants[i].roof = (question->ordinary ? ws_roof_of_ordinary : ws_roof_of)(
            question->gpu, question->precision, &question->variants[i].work);
    return status;
}

static const char *bound_of(const struct ws_roof *roof)
{
    return roof->compute_bound ? "compute-bound" : "memory-bound";
}

static double roofline_padded(double size, double multiple)
{
    return ceil(size / multiple) * multiple;
}

/* Prints the reasons why a GEMM does not use tensor cores well; see analysis/roofline/gemms.h. */
static void print_hints(const struct question *question, struct ws_page *page)
{
    const struct ws_gpu *gpu = question->gpu;
    double multiple = 128.0 / ws_precision_bits(question->precision);
    double m = roofline_padded(question->m, multiple), n = roofline_padded(question->n, multiple),
           k = roofline_padded(question->k, multiple);
    bool has_vector = question->m == 1 || question->n == 1 || question->k == 1;
    double tf32 = gpu->flops_per_ns[WS_PRECISION_TF32][WS_CORES_TENSOR];
    if (has_vector)
        return;
    if (gpu->flops_per_ns[question->precision][WS_CORES_TENSOR] > 0 && !ws_gpu_is_amd(gpu->name) &&
        (m > question->m || n > question->n || k > question->k))
        ws_page_fact(
            page, "sizes",
            "tensor cores need multiples of %.0f (16 bytes) in the contiguous dimension, or they are slower or not "
            "used: %.0f × %.0f × %.0f",
            multiple, m, n, k);
    if (question->precision == WS_PRECISION_FP32 && tf32 > ws_gpu_peak(gpu, WS_PRECISION_FP32))
        ws_page_fact(page, "precision", "tf32 on tensor cores has %.4g TFLOP/s: see --dtype tf32", tf32 / 1e3);
}

/* Prints facts, wrapped at the terminal's width, and a table. The table is not fitted to that width, because it has
 * no long names that could be shortened. */
static void roofline_print_text(const struct question *question, const struct tool_arguments *arguments)
{
    static const struct ws_table_column columns[] = {
        { "", true, false },           { "FLOPs", false, false },    { "bytes", false, false },
        { "intensity", false, false }, { "bound", true, false },     { "attainable", false, false },
        { "of peak", false, false },   { "at least", false, false },
    };
    struct ws_page page = tool_page(arguments, 0);
    struct ws_table table;
    char time[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE], flops[WS_FORMAT_SIZE], rate[WS_FORMAT_SIZE], peak[WS_PEAK_TEXT];
    const struct ws_roof *roof = &question->variants[0].roof;
    ws_page_fact(&page, "question", "%s, %s", question->what, ws_precision_name(question->precision));
    ws_page_fact(&page, "GPU", "%s: %s, %s%.4g TB/s, ridge %.0f FLOPs a byte", question->gpu->name,
                 ws_peak_text(question->gpu, question->precision, peak), question->gpu->calibrated ? "measured " : "",
                 question->gpu->bytes_per_ns / 1e3, roof->ridge);
    ws_page_fact(&page, "its source", "%s", question->gpu->source);
    if (roof->cores_peak < roof->peak)
        ws_page_fact(&page, "its cores", "ordinary ones: tensor cores run only GEMMs. %.4g TFLOP/s, ridge %.0f",
                     roof->cores_peak / 1e3, roof->cores_peak / question->gpu->bytes_per_ns);
    fputc('\n', stdout);
    ws_table_init(&table, &page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < question->count; i++) {
        const struct variant *variant = &question->variants[i];
        ws_table_cell(&table, "%s", variant->name);
        ws_table_cell(&table, "%s", ws_format_flops(flops, variant->work.flops));
        ws_table_cell(&table, "%s", ws_format_bytes(bytes, (uint64_t)variant->work.bytes));
        ws_table_real(&table, variant->roof.intensity);
        ws_table_cell(&table, "%s", bound_of(&variant->roof));
        ws_table_cell(&table, "%s TFLOP/s", ws_format_real(rate, variant->roof.attainable / 1e3));
        ws_table_cell(&table, "%.2f %%", 100 * variant->roof.attainable / variant->roof.peak);
        ws_table_cell(&table, "%s",
                      variant->roof.ns < 1 ? "< 1 ns" : ws_format_time(time, (int64_t)variant->roof.ns));
    }
    ws_table_finish(&table);
    if (question->m > 0)
        print_hints(question, &page);
    if (question->count < 2)
        return;
    const struct variant *now = &question->variants[0], *fused = &question->variants[1];
    fputc('\n', stdout);
    ws_page_fact(&page, "fusing", "%s moved again; up to %.2f times as fast, %s and %.0f %s saved",
                 ws_format_bytes(bytes, (uint64_t)(now->work.bytes - fused->work.bytes)),
                 now->roof.ns / fused->roof.ns, ws_format_time(time, (int64_t)(now->roof.ns - fused->roof.ns)),
                 now->launches - fused->launches, now->launches - fused->launches > 1 ? "launches" : "launch");
}

static int roofline_print_json(const struct question *question)
{
    const struct variant *now = &question->variants[0], *fused = &question->variants[1];
    json_t *variants = json_array();
    for (size_t i = 0; i < question->count; i++) {
        const struct variant *variant = &question->variants[i];
        json_array_append_new(
            variants,
            json_pack("{s:s, s:f, s:f, s:f, s:s, s:f, s:f, s:f, s:f, s:f}", "name", variant->name, "flops",
                      variant->work.flops, "bytes", variant->work.bytes, "intensity", variant->roof.intensity,
                      "bound", bound_of(&variant->roof), "attainable_flops_per_s", variant->roof.attainable * 1e9,
                      "of_peak", variant->roof.attainable / variant->roof.peak, "least_ns", variant->roof.ns,
                      "launches", variant->launches, "cores_flops_per_s", variant->roof.cores_peak * 1e9));
    }
    json_t *root =
        json_pack("{s:s, s:o, s:o, s:s, s:f, s:f, s:f, s:o}", "question", question->what, "gpu",
                  ws_json_text(question->gpu->name), "gpu_source", ws_json_text(question->gpu->source), "precision",
                  ws_precision_name(question->precision), "peak_flops_per_s", now->roof.peak * 1e9, "bytes_per_s",
                  question->gpu->bytes_per_ns * 1e9, "ridge", now->roof.ridge, "variants", variants);
    if (!root)
        return tool_error("out of memory");
    if (question->count > 1) {
        json_object_set_new(root, "wasted_bytes", json_real(now->work.bytes - fused->work.bytes));
        json_object_set_new(root, "speedup_bound", json_real(now->roof.ns / fused->roof.ns));
    }
    return tool_print_json(root);
}

static int print_list(const struct tool_arguments *arguments)
{
    static const struct ws_table_column columns[] = {
        { "GPU", true, 0 },
        { "GB/s", false, 0 },
        { "fp32", false, 0 },
        { "tf32", false, 0 },
        { "bf16", false, 0 },
        { "fp16", false, 0 },
        { "fp8", false, WS_NARROW_LEAVE_OUT },
        { "fp4", false, WS_NARROW_LEAVE_OUT },
        { "ridge fp16", false, WS_NARROW_LEAVE_OUT },
        { "source", true, WS_NARROW_SHORTEN | WS_NARROW_LEAVE_OUT },
    };
    static const enum ws_precision shown[] = { WS_PRECISION_FP32, WS_PRECISION_TF32, WS_PRECISION_BF16,
                                               WS_PRECISION_FP16, WS_PRECISION_FP8,  WS_PRECISION_FP4 };
    struct ws_page page = tool_page(arguments, 0);
    struct ws_table table;
    char text[WS_FORMAT_SIZE];
    size_t count;
    const struct ws_gpu *gpus = ws_gpu_table(&count);
    ws_page_text(
        &page, "Peaks in TFLOP/s for dense matrices, on tensor or ordinary cores, whichever are faster. %s",
        page.wide ? "The sources are the makers' documents; the figures were compared with quotations of them only."
                  : "--wide shows all columns and the sources.");
    fputc('\n', stdout);
    ws_table_init(&table, &page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        ws_table_cell(&table, "%s", gpus[i].name);
        ws_table_cell(&table, "%.0f", gpus[i].bytes_per_ns);
        for (size_t j = 0; j < sizeof(shown) / sizeof(shown[0]); j++) {
            double peak = ws_gpu_peak(&gpus[i], shown[j]);
            if (peak > 0)
                ws_table_cell(&table, "%s", ws_format_real(text, peak / 1e3));
            else
                ws_table_cell(&table, "–");
        }
        ws_table_cell(&table, "%.0f", ws_gpu_ridge(&gpus[i], WS_PRECISION_FP16));
        ws_table_cell(&table, "%s", gpus[i].source);
    }
    ws_table_finish(&table);
    return TOOL_DONE;
}

static int tool_roofline_run(const struct tool_arguments *arguments)
{
    struct question question = { 0 };
    if (arguments->operand_count)
        return tool_error("roofline: %s: takes no trace; name an operation with --op, see wallshim roofline --help",
                          arguments->operands[0]);
    if (tool_value(arguments, "list"))
        return print_list(arguments);
    int status = read_question(arguments, &question);
    if (!status && question.gpu && tool_value(arguments, "json"))
        status = roofline_print_json(&question);
    else if (!status && question.gpu)
        roofline_print_text(&question, arguments);
    tool_gpu_finish(&question.given);
    return status;
}

const struct tool_command tool_roofline = {
    .name = "roofline",
    .operands = "--op OP --gpu NAME",
    .summary = "predict on paper how fast an operation can run",
    .text =
        "Says which roof of a GPU limits an operation: its FLOPs, the least bytes it must move, its arithmetic "
        "intensity beside the GPU's ridge, the rate it can reach and the least time it takes. A chain of pointwise "
        "kernels, and attention, are compared with their fused form: the bytes moved again, and how much faster the "
        "fused form can be at most.",
    .switches = roofline_switches,
    .run = tool_roofline_run,
};
