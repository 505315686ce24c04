/* Evaluates a rule, such as "busy >= 80 %", on a JSON report. The rule tests a value: a named figure (figure.h), or
 * what a path such as kernels["gemm"].share selects in the report. The rule must hold for each device, process or row
 * of a list in the report that has this value. */
#ifndef WALLSHIM_CHECK_EVALUATE_H
#define WALLSHIM_CHECK_EVALUATE_H

#include <jansson.h>

#include "base/vector.h"
#include "check/find.h"
#include "check/rule.h"

/* The outcome of a rule, in ascending order of severity: the rule holds, the rule's value is not known, the rule is
 * broken. */
enum ws_outcome { WS_HOLDS, WS_NOT_KNOWN, WS_BROKEN };

enum { WS_WHY_SIZE = 160 };

/* The result of a rule for one device, process or row of a list in the report. Its pointers point into the report, so
 * the report must outlive it. */
struct ws_finding {
    enum ws_outcome outcome;
    const json_t *process, *device; /* JSON objects of the process and device that the value belongs to; NULL: none */
    struct ws_found value;
    double error;          /* the true value is within value ± error; 0: the report states no error */
    bool within_error;     /* the value is so close to the rule's limit that the error could change the outcome */
    char why[WS_WHY_SIZE]; /* reason, if the outcome is not known */
};

struct ws_judgement {
    enum ws_outcome outcome;   /* the most severe outcome of all findings */
    struct ws_vector findings; /* struct ws_finding, at least one */
};

/* Returns 0, -ENOMEM or -EINVAL. -EINVAL means that the rule is wrong: its figure does not exist, or its value has a
 * unit that does not fit the figure. After -EINVAL, message holds one line that says what is wrong. Call
 * ws_judgement_finish in all cases. */
int ws_rule_evaluate(const struct ws_rule *rule, const json_t *report, struct ws_judgement *judgement, char *message,
                     size_t capacity);

void ws_judgement_finish(struct ws_judgement *judgement);

/* Returns the outcome's name in the JSON that `wallshim check` writes. */
const char *ws_outcome_name(enum ws_outcome outcome);

#endif
