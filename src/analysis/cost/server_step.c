#include "analysis/cost/server_step.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_THAT_SHARE_KEYS = 16, NAME_MOST = 256 };

static const double least_element = 0.5; /* bytes: fp4 */

/* Returns the number at `at`; -1: none. Skips "sq", which ROCm's vLLM writes before the sum of the query lengths. */
static double number_at(const char *at)
{
    if (!strncmp(at, "sq", 2))
        at += 2;
    return isdigit((unsigned char)*at) ? strtod(at, NULL) : -1;
}

/* Returns the number behind a word; -1: no number, or the word is absent. */
static double server_number(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    return at ? number_at(at + strlen(word)) : -1;
}

/* Returns the number in the first brackets behind a word: 512 for "_context_" in "…_context_2(512)…". */
static double number_in_brackets(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    at = at ? strchr(at, '(') : NULL;
    return at ? number_at(at + 1) : -1;
}

/* Reads "execute_context_2(512)_generation_30(30)": each number of requests is followed by the number of their tokens
 * in brackets. */
static struct ws_server_step read_vllm(const char *name)
{
    double context = number_in_brackets(name, "context_"), generation = number_in_brackets(name, "_generation_");
    struct ws_server_step step = { 0 };
    if (context < 0 || generation < 0)
        return step;
    step.tokens = context + generation;
    step.decodes = !(context > 0) && generation == server_number(name, "_generation_");
    return step;
}

/* Reads "step[DECODE bs=32]": each request of a decode step has one token. */
static struct ws_server_step read_sglang(const char *name)
{
    double requests = server_number(name, " bs=");
    if (strncmp(name, "step[DECODE", 11) != 0 || requests < 0)
        return (struct ws_server_step){ 0 };
    return (struct ws_server_step){ requests, true };
}

struct ws_server_step ws_server_step_read(const char *name, size_t length)
{
    char text[NAME_MOST];
    if (length < 5 || (memcmp(name, "execu", 5) != 0 && memcmp(name, "step[", 5) != 0))
        return (struct ws_server_step){ 0 };
    if (length >= sizeof(text))
        length = sizeof(text) - 1;
    memcpy(text, name, length);
    text[length] = 0;
    if (!strncmp(text, "execute_", 8))
        return read_vllm(text);
    return !strncmp(text, "step[", 5) ? read_sglang(text) : (struct ws_server_step){ 0 };
}

bool ws_process_serves(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    for (size_t i = 0; i < process->labels.rows.count; i++)
        if (ws_server_step_read(labels[i].text.data, labels[i].text.length).tokens > 0)
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
