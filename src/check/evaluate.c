#include "check/evaluate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/figure.h"

/* If operations without device times exceed 1/UNTIMED_LIMIT of the operations with device times, figures that
 * set ws_figure.whole are meaningless, and their outcome is WS_NOT_KNOWN. */
enum { UNTIMED_LIMIT = 20 };

struct evaluation {
    const struct ws_rule *rule;
    const struct ws_figure *figure; /* NULL: the rule names a path in the report, not a figure */
    bool as_share;                  /* true: compare the figure as a share of the time figure->of, not as a time */
    const json_t *process, *device;
    struct ws_judgement *judgement;
    char *message; /* buffer for an error message about the rule */
    size_t capacity;
};

static struct ws_finding *evaluate_add_finding(struct evaluation *evaluation, enum ws_outcome outcome)
{
    struct ws_finding *finding = ws_vector_push(&evaluation->judgement->findings);
    if (!finding)
        return NULL;
    finding->outcome = outcome;
    finding->process = evaluation->process;
    finding->device = evaluation->device;
    if (outcome > evaluation->judgement->outcome)
        evaluation->judgement->outcome = outcome;
    return finding;
}

static int add_unknown(struct evaluation *evaluation, const char *why)
{
    struct ws_finding *finding = evaluate_add_finding(evaluation, WS_NOT_KNOWN);
    if (!finding)
        return -ENOMEM;
    snprintf(finding->why, sizeof(finding->why), "%s", why);
    return 0;
}

static int misfit(struct evaluation *evaluation, const char *what)
{
    snprintf(evaluation->message, evaluation->capacity, "%s %s", evaluation->rule->figure, what);
    return -EINVAL;
}

/* Checks that the rule's value has the figure's unit. A number without a unit may also be compared with a share if it
 * is at most 1. The number 0 needs no unit. Returns 0 or -EINVAL. */
static int check_units(struct evaluation *evaluation, enum ws_unit unit)
{
    const struct ws_value *value = &evaluation->rule->value;
    if ((unit == WS_UNIT_TEXT) != (value->unit == WS_UNIT_TEXT))
        return misfit(evaluation, unit == WS_UNIT_TEXT ? "is a word, not a number" : "is a number, not a word");
    if (value->unit == unit)
        return 0;
    if (value->unit == WS_UNIT_NONE && unit == WS_UNIT_SHARE)
        return value->number <= 1 ? 0 : misfit(evaluation, "is a share: write 80 % or 0.8");
    if (value->unit == WS_UNIT_NONE)
        return value->number == 0
                   ? 0
                   : misfit(evaluation, unit == WS_UNIT_TIME ? "is a time: give a unit, ns us ms s"
                                                             : "is in bytes: give a unit, B kB MB GB …");
    switch (unit) {
    case WS_UNIT_SHARE:
        return misfit(evaluation, "is a share: compare it with a %");
    case WS_UNIT_TIME:
        return misfit(evaluation, "is a time: compare it with ns, us, ms or s");
    case WS_UNIT_BYTES:
        return misfit(evaluation, "is in bytes: compare it with B, kB, MB, GB …");
    default:
        return misfit(evaluation, "is a plain number: compare it without a unit");
    }
}

static int evaluate_judge(struct evaluation *evaluation, const struct ws_found *found, double error)
{
    const struct ws_rule *rule = evaluation->rule;
    const struct ws_value *value = &rule->value;
    if (found->unit == WS_UNIT_TEXT && !found->text)
        return add_unknown(evaluation, "the report gives no value");
    int status = check_units(evaluation, found->unit);
    if (status)
        return status;
    bool holds = found->unit == WS_UNIT_TEXT
                     ? !strcmp(found->text, ws_word_now(value->text)) == (rule->relation == WS_EQUAL)
                     : ws_numbers_hold(found->number, rule->relation, value->number);
    struct ws_finding *finding = evaluate_add_finding(evaluation, holds ? WS_HOLDS : WS_BROKEN);
    if (!finding)
        return -ENOMEM;
    finding->value = *found;
    finding->error = error;
    finding->within_error =
        error > 0 && value->number > found->number - error && value->number < found->number + error;
    return 0;
}

/* --- named figures ------------------------------------------------------------------------------- */

/* Adds up the values that a path selects in the subject. The subject is the JSON object of a device, of a process or
 * of the job. Returns 0, -ENOENT or -ENOMEM. */
static int sum_path(const json_t *subject, const char *text, struct ws_found *sum)
{
    struct ws_vector found = WS_VECTOR(struct ws_found);
    struct ws_path path;
    char message[WS_WHY_SIZE];
    int status = ws_path_parse(&path, text, message, sizeof(message));
    status = status ? status : ws_find(&path, subject, &found, message, sizeof(message));
    const struct ws_found *values = found.data;
    *sum = (struct ws_found){ 0 };
    for (size_t i = 0; i < found.count; i++) {
        sum->number += values[i].number;
        sum->text = values[i].text;
        if (values[i].unit == WS_UNIT_TEXT && !values[i].text)
            status = -ENOENT; /* the report holds null in place of the text: the value is not known */
    }
    ws_vector_finish(&found);
    ws_path_finish(&path);
    return status;
}

static double evaluate_number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Returns why the rule's figure is meaningless for the subject (a device, a process or the job), or NULL if the
 * figure is meaningful. */
static const char *why_not(const struct evaluation *evaluation, const json_t *subject, char text[WS_WHY_SIZE])
{
    const struct ws_figure *figure = evaluation->figure;
    double untimed = evaluate_number_at(subject, "untimed_events");
    if (figure->whole && untimed > evaluate_number_at(subject, "gpu_events") / UNTIMED_LIMIT) {
        snprintf(text, WS_WHY_SIZE, "%.0f operations have no device times", untimed);
        return text;
    }
    const json_t *wall = json_object_get(subject, "wall");
    if (figure->per_step && json_is_object(wall) && !json_is_true(json_object_get(wall, "per_step")))
        return "the trace has no steps";
    return NULL;
}

static int not_given(struct evaluation *evaluation, const json_t *subject)
{
    struct ws_found reason = { 0 };
    if (evaluation->figure->reason && !sum_path(subject, evaluation->figure->reason, &reason) && reason.text)
        return add_unknown(evaluation, reason.text);
    return add_unknown(evaluation, "the trace does not give it");
}

static int judge_figure(struct evaluation *evaluation, const json_t *subject)
{
    const struct ws_figure *figure = evaluation->figure;
    struct ws_found value, of = { .number = 1 }, except = { 0 }, error = { 0 };
    char text[WS_WHY_SIZE];
    const char *why = why_not(evaluation, subject, text);
    if (why)
        return add_unknown(evaluation, why);
    int status = sum_path(subject, figure->value, &value);
    if (status == -ENOENT && figure->none_is_zero)
        status = 0;
    if (!status && evaluation->as_share)
        status = sum_path(subject, figure->of, &of);
    if (!status && evaluation->as_share && figure->except)
        status = sum_path(subject, figure->except, &except);
    if (!status && figure->error)
        status = sum_path(subject, figure->error, &error);
    if (status)
        return status == -ENOENT ? not_given(evaluation, subject) : status;
    double whole = of.number - except.number;
    if (whole <= 0)
        return add_unknown(evaluation, "there is nothing that it could be a share of");
    value.number /= whole;
    value.unit = evaluation->as_share ? WS_UNIT_SHARE : figure->of ? WS_UNIT_TIME : figure->unit;
    return evaluate_judge(evaluation, &value, error.number / whole);
}

/* --- paths ------------------------------------------------------------------------------------- */

static int judge_path(struct evaluation *evaluation, const json_t *subject)
{
    struct ws_vector found = WS_VECTOR(struct ws_found);
    char why[WS_WHY_SIZE];
    int status = ws_find(&evaluation->rule->path, subject, &found, why, sizeof(why));
    const struct ws_found *values = found.data;
    if (status == -ENOENT)
        status = add_unknown(evaluation, why);
    else if (status == -EINVAL)
        status = misfit(evaluation, why);
    else if (!status && !found.count)
        status = add_unknown(evaluation, "the list is empty");
    for (size_t i = 0; i < found.count && !status; i++)
        status = evaluate_judge(evaluation, &values[i], 0);
    ws_vector_finish(&found);
    return status;
}

/* --- subjects ---------------------------------------------------------------------------------- */

static int judge_subject(struct evaluation *evaluation, const json_t *subject)
{
    return evaluation->figure ? judge_figure(evaluation, subject) : judge_path(evaluation, subject);
}

/* Returns whether the device ran any operation. If at least one device ran operations, rules are not evaluated on the
 * devices that ran none. */
static bool ran(const json_t *device)
{
    return evaluate_number_at(device, "gpu_events") > 0 || evaluate_number_at(device, "untimed_events") > 0;
}

static int judge_devices(struct evaluation *evaluation, const json_t *report, bool idle_too)
{
    size_t i, j;
    json_t *process, *device;
    json_array_foreach(json_object_get(report, "processes"), i, process)
    {
        json_array_foreach(json_object_get(process, "devices"), j, device)
        {
            if (!ran(device) && !idle_too)
                continue;
            evaluation->process = process;
            evaluation->device = device;
            int status = judge_subject(evaluation, device);
            if (status)
                return status;
        }
    }
    return 0;
}

static int judge_processes(struct evaluation *evaluation, const json_t *report)
{
    size_t i;
    json_t *process;
    int status = 0;
    json_array_foreach(json_object_get(report, "processes"), i, process)
    {
        evaluation->process = process;
        status = judge_subject(evaluation, process);
        if (status)
            break;
    }
    return status;
}

/* Finds out which objects of the report hold the value that the rule tests: those of devices, of processes or of the
 * job. */
static int find_scope(struct evaluation *evaluation, const json_t *report, enum ws_subject_scope *scope)
{
    const char *first = evaluation->rule->path.parts[0].text;
    char key[WS_WHY_SIZE];
    if (evaluation->figure) { /* find the objects that have the first key of figure->value */
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(evaluation->figure->value, ".["), evaluation->figure->value);
        if (ws_find_scope(report, key, scope))
            *scope = WS_SUBJECT_DEVICE;
        return 0;
    }
    if (!ws_find_scope(report, first, scope))
        return 0;
    const json_t *process = json_array_get(json_object_get(report, "processes"), 0);
    const json_t *device = json_array_get(json_object_get(process, "devices"), 0);
    const char *near = ws_figure_nearest(evaluation->rule->figure);
    near = near ? near : ws_nearest_key(device, first);
    near = near ? near : ws_nearest_key(process, first);
    snprintf(evaluation->message, evaluation->capacity, "%s: no such figure%s%s", evaluation->rule->figure,
             near ? "; nearest: " : "; wallshim check --list shows them", near ? near : "");
    return -EINVAL;
}

int ws_rule_evaluate(const struct ws_rule *rule, const json_t *report, struct ws_judgement *judgement, char *message,
                     size_t capacity)
{
    const struct ws_figure *figure = ws_figure_find(rule->figure);
    enum ws_unit unit = rule->value.unit;
    struct evaluation evaluation = {
        .rule = rule,
        .figure = figure,
        .as_share = figure && figure->of &&
                    (unit == WS_UNIT_SHARE || (figure->unit == WS_UNIT_SHARE && unit != WS_UNIT_TIME)),
        .judgement = judgement,
        .message = message,
        .capacity = capacity,
    };
    enum ws_subject_scope scope;
    *judgement = (struct ws_judgement){ .findings = WS_VECTOR(struct ws_finding) };
    int status = find_scope(&evaluation, report, &scope);
    if (!status && scope == WS_SUBJECT_DEVICE)
        status = judge_devices(&evaluation, report, false);
    if (!status && scope == WS_SUBJECT_DEVICE && !judgement->findings.count)
        status = judge_devices(&evaluation, report, true);
    if (!status && scope == WS_SUBJECT_PROCESS)
        status = judge_processes(&evaluation, report);
    if (!status && scope == WS_SUBJECT_JOB)
        status = judge_subject(&evaluation, report);
    if (!status && !judgement->findings.count)
        status = add_unknown(&evaluation, "the trace holds no device");
    return status;
}

void ws_judgement_finish(struct ws_judgement *judgement)
{
    ws_vector_finish(&judgement->findings);
}

const char *ws_outcome_name(enum ws_outcome outcome)
{
    return outcome == WS_HOLDS ? "holds" : outcome == WS_BROKEN ? "broken" : "not_known";
}
