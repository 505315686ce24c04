/* Fuzz target: the input is the text of a rule, which is parsed and judged on a small report. */
#include <stdint.h>
#include <string.h>

#include "check/evaluate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char report_text[] =
    "{\"processes\":[{\"losses\":[],\"devices\":[{\"gpu_events\":9,\"span_ns\":10,\"unrecorded_ns\":0,\"busy_ns\":5,"
    "\"busy_error_ns\":1,\"wall\":null,\"kernels\":[{\"name\":\"a\",\"class\":\"gemm\",\"count\":2,\"total_ns\":4}]}]"
    "}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256], message[64];
    struct ws_rule rule;
    if (size >= sizeof(text))
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    if (!ws_rule_parse(&rule, text, message, sizeof(message))) {
        struct ws_judgement judgement;
        json_t *report = json_loads(report_text, 0, NULL);
        ws_rule_evaluate(&rule, report, &judgement, message, sizeof(message));
        ws_judgement_finish(&judgement);
        json_decref(report);
    }
    ws_rule_finish(&rule);
    return 0;
}
