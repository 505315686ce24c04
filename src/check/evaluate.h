/* Does a rule hold for a report? It must for each device, process or row that has the figure. */
#ifndef WALLSHIM_CHECK_EVALUATE_H
#define WALLSHIM_CHECK_EVALUATE_H

#include <jansson.h>

#include "base/vector.h"
#include "check/find.h"
#include "check/rule.h"

/* In the order of what a user should hear first. */
enum ws_outcome { WS_HOLDS, WS_NOT_KNOWN, WS_BROKEN };

enum { WS_WHY_SIZE = 160 };

/* What became of a rule for one device, process or row. Texts live as long as the report. */
struct ws_finding {
    enum ws_outcome outcome;
    const json_t *process, *device; /* where; NULL where the rule is about more than that */
    struct ws_found value;
    double error;          /* the number is right within ± this; 0: not stated */
    bool within_error;     /* and so the rule might as well have come out otherwise */
    char why[WS_WHY_SIZE]; /* where it is not known */
};

struct ws_judgement {
    enum ws_outcome outcome;   /* of all findings: broken if one is, else not known if one is */
    struct ws_vector findings; /* struct ws_finding, at least one */
};

/* Returns 0; -EINVAL with one line in message where the rule can mean nothing in any report: no such figure,
 * a unit that does not fit; -ENOMEM. The judgement is to be finished in any case. */
int ws_rule_evaluate(const struct ws_rule *rule, const json_t *report, struct ws_judgement *judgement, char *message,
                     size_t capacity);

void ws_judgement_finish(struct ws_judgement *judgement);

const char *ws_outcome_name(enum ws_outcome outcome); /* in JSON */

#endif
