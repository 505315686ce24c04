/* Rules on the figures of a report: "busy >= 80 %", "step_time.p95 < 45 ms", "kernels["gemm"].share > 0.5".
 *
 *     rule      FIGURE OPERATOR VALUE, with or without blanks between them
 *     FIGURE    KEY { . KEY | [N] | [*] | ["TEXT"] }: a figure's name (figure.h), or a path in the JSON report
 *     OPERATOR  < <= > >= == !=
 *     VALUE     a number, alone or with a unit; or a word or "TEXT", for == and !=
 *     unit      % ; ns us µs ms s ; B kB MB GB TB KiB MiB GiB TiB
 */
#ifndef WALLSHIM_CHECK_RULE_H
#define WALLSHIM_CHECK_RULE_H

#include <stdbool.h>
#include <stddef.h>

/* What a number measures. A rule compares a number only with a number that measures the same: a time with a time,
 * bytes with bytes. Exceptions are in check_units (evaluate.c). */
enum ws_unit {
    WS_UNIT_NONE,  /* a count, or a value whose key gives no unit */
    WS_UNIT_SHARE, /* a share as a fraction: 0.8 for 80 % */
    WS_UNIT_TIME,  /* ns */
    WS_UNIT_BYTES,
    WS_UNIT_TEXT,
};

enum ws_relation { WS_LESS, WS_AT_MOST, WS_MORE, WS_AT_LEAST, WS_EQUAL, WS_UNEQUAL, WS_RELATION_COUNT };

enum ws_path_kind {
    WS_PATH_KEY,   /* key of an object */
    WS_PATH_INDEX, /* one item of a list */
    WS_PATH_EACH,  /* every item of a list */
    WS_PATH_ROWS,  /* the rows of a list that have this class, or this text in their names */
};

struct ws_path_part {
    enum ws_path_kind kind;
    const char *text; /* for WS_PATH_KEY: the key; for WS_PATH_ROWS: the class or name of the rows */
    size_t index;     /* for WS_PATH_INDEX: the item's number, from 0 */
};

enum { WS_PATH_PARTS = 8 };

struct ws_path {
    struct ws_path_part parts[WS_PATH_PARTS];
    size_t count;
    char *texts; /* memory that holds the texts of the parts */
};

struct ws_value {
    enum ws_unit unit;
    double number;
    char *text; /* the value, if its unit is WS_UNIT_TEXT; else NULL */
};

struct ws_rule {
    char *figure; /* as written in the rule: "step_time.p95" */
    struct ws_path path;
    enum ws_relation relation;
    struct ws_value value;
};

/* Returns 0, -ENOMEM, or -EINVAL with one line in message that says what is wrong and where. */
int ws_rule_parse(struct ws_rule *rule, const char *text, char *message, size_t capacity);

/* Frees a rule. Also accepts a rule that could not be parsed. */
void ws_rule_finish(struct ws_rule *rule);

/* Parses a path that stands alone, not in a rule. */
int ws_path_parse(struct ws_path *path, const char *text, char *message, size_t capacity);
void ws_path_finish(struct ws_path *path);

/* Returns whether the comparison of `number` with `value` is true: for WS_LESS, whether number < value. */
bool ws_numbers_hold(double number, enum ws_relation relation, double value);

#endif
