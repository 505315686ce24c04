#include "analysis/cost/server_step.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum { HEADS_THAT_SHARE_KEYS = 16, NAME_MOST = 256 };

static const double least_element = 0.5; /* size in bytes of the smallest element type, fp4 */
static const double number_most = 1e12;  /* larger numbers in the names of ranges are reduced to this limit, so that
                                            sums stay finite; no server has counts this large */

/* Returns the number at `at`; -1: none. Skips "sq", which ROCm's vLLM writes before the sum of the query lengths. */
static double number_at(const char *at)
{
    if (!strncmp(at, "sq", 2))
        at += 2;
    return isdigit((unsigned char)*at) ? ws_min(strtod(at, NULL), number_most) : -1;
}

/* Returns the number after a word in a range's name; -1: no number, or the word is absent. */
static double server_number(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    return at ? number_at(at + strlen(word)) : -1;
}

/* Returns the number in the first brackets after a word: 512 for "_context_" in "…_context_2(512)…". */
static double number_in_brackets(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    at = at ? strchr(at, '(') : NULL;
    return at ? number_at(at + 1) : -1;
}

/* Returns the phase of an iteration with these numbers of prompts and of generating requests. A negative number means
 * "not known", and counts as 0. */
static enum ws_phase phase_of(double prompts, double generating)
{
    return (prompts > 0 ? WS_PHASE_PREFILL : 0) | (generating > 0 ? WS_PHASE_DECODE : 0);
}

/* Reads "execute_context_2(512)_generation_30(30)": each number of requests is followed by the number of their tokens
 * in brackets. vLLM counts a request as context until the server has generated the request's first token. */
static struct ws_server_step read_vllm(const char *name)
{
    double context = number_in_brackets(name, "context_"), generation = number_in_brackets(name, "_generation_");
    double prompts = server_number(name, "context_"), generating = server_number(name, "_generation_");
    struct ws_server_step step = { 0 };
    if (context < 0 || generation < 0 || prompts < 0 || generating < 0)
        return step;
    step.tokens = context + generation;
    step.decodes = !(context > 0) && generation == generating;
    step.requests = prompts + generating;
    step.phase = phase_of(prompts, generating);
    step.iteration = true;
    return step;
}

/* Reads "execute_new_3_cached_5": a cached request generates tokens, or continues a long prompt. The name does not
 * tell which of the two, so the phase is known only if all requests are new. */
static struct ws_server_step read_old_vllm(const char *name)
{
    double new = server_number(name, "_new_"), cached = server_number(name, "_cached_");
    if (new < 0 || cached < 0)
        return (struct ws_server_step){ 0 };
    return (struct ws_server_step){ .requests = new + cached,
                                    .phase = cached > 0 ? WS_PHASE_NOT_KNOWN : phase_of(new, 0),
                                    .iteration = true };
}

/* SGLang's modes of a forward pass. In speculative decoding, a draft model guesses tokens in passes of its own. Some
 * of these passes have modes of their own, others have the modes of the main model. SPLIT_PREFILL is not listed,
 * because such a pass runs only some layers. */
static const struct {
    const char *mode;
    enum ws_phase phase;
    bool drafts;
} sglang_modes[] = {
    { "EXTEND ", WS_PHASE_PREFILL, false }, { "DECODE ", WS_PHASE_DECODE, false },
    { "MIXED ", WS_PHASE_MIXED, false },    { "TARGET_VERIFY", WS_PHASE_NOT_KNOWN, true },
    { "DRAFT_", WS_PHASE_NOT_KNOWN, true },
};

/* Reads "step[DECODE bs=32]" and "step[EXTEND bs=2 toks=4096]". SGLang may add figures for a roofline: "step[MIXED
 * bs=2 c=1 g=1 c_sq=5 … g_sq=1 …]". In a decode step, each request generates one token. */
static struct ws_server_step read_sglang(const char *name)
{
    double requests = server_number(name, " bs="), tokens = server_number(name, " toks=");
    double context = server_number(name, " c_sq="), generation = server_number(name, " g_sq=");
    struct ws_server_step step = { .requests = ws_max(requests, 0), .iteration = requests >= 0 };
    for (size_t i = 0; i < sizeof(sglang_modes) / sizeof(sglang_modes[0]) && step.iteration; i++) {
        if (strncmp(name + strlen("step["), sglang_modes[i].mode, strlen(sglang_modes[i].mode)) != 0)
            continue;
        step.phase = sglang_modes[i].phase;
        step.drafts = sglang_modes[i].drafts;
    }
    if (step.phase == WS_PHASE_MIXED && context >= 0 && generation >= 0) {
        step.tokens = context + generation;
        step.phase = phase_of(context, generation);
    }
    step.decodes = step.phase == WS_PHASE_DECODE && context < 0;
    if (!(step.tokens > 0))
        step.tokens = step.decodes ? step.requests : ws_max(tokens, 0);
    return step;
}

/* Reads "[Executor] _forward_step 7: 2 ctx reqs, 512 ctx tokens, 30 gen reqs"; older versions write neither the
 * number of the step nor the number of tokens. A generating request may work on several tokens in one iteration, and
 * the name does not give their number. */
static struct ws_server_step read_tensorrt_llm(const char *name)
{
    const char *colon = strchr(name, ':'), *reqs = strstr(name, " ctx reqs, ");
    if (!colon || colon[1] != ' ' || !reqs)
        return (struct ws_server_step){ 0 };
    reqs += strlen(" ctx reqs, ");
    const char *generations = strstr(reqs, " ctx tokens, ");
    double prompts = number_at(colon + 2), context = generations ? number_at(reqs) : -1;
    double generating = number_at(generations ? generations + strlen(" ctx tokens, ") : reqs);
    if (prompts < 0 || generating < 0)
        return (struct ws_server_step){ 0 };
    return (struct ws_server_step){ .tokens = generating > 0 ? 0 : ws_max(context, 0),
                                    .requests = prompts + generating,
                                    .phase = phase_of(prompts, generating),
                                    .iteration = true };
}

static const struct {
    const char *begin;
    struct ws_server_step (*read)(const char *name);
} servers[] = {
    { "execute_new_", read_old_vllm },
    { "execute_", read_vllm },
    { "step[", read_sglang },
    { "[Executor] _forward_step", read_tensorrt_llm },
};

struct ws_server_step ws_server_step_read(const char *name, size_t length)
{
    char text[NAME_MOST];
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        size_t begin = strlen(servers[i].begin);
        if (length < begin || memcmp(name, servers[i].begin, begin) != 0)
            continue;
        length = ws_min(length, sizeof(text) - 1);
        memcpy(text, name, length);
        text[length] = 0;
        return servers[i].read(text);
    }
    return (struct ws_server_step){ 0 };
}

bool ws_process_serves(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    for (size_t i = 0; i < process->labels.rows.count; i++)
        if (ws_server_step_read(labels[i].text.data, labels[i].text.length).iteration)
            return true;
    return false;
}

double ws_server_step_intensity(const struct ws_server_step *step, enum ws_kernel_class class,
                                const struct ws_matmul_name *matmul, const char *kernel)
{
    if (!(step->tokens > 0))
        return 0;
    if (class == WS_CLASS_GEMM)
        return 2 * step->tokens / (matmul->element > 0 ? matmul->element : least_element);
    if (class == WS_CLASS_ATTENTION && step->decodes && !strstr(kernel, "mla") && !strstr(kernel, "Mla") &&
        !strstr(kernel, "MLA"))
        return 2 * HEADS_THAT_SHARE_KEYS;
    return 0;
}
