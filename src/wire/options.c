#include "wire/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ws_option_info ws_option_table[] = {
#define OPTION(field, variable, name, kind, def, least, most, argument, help) \
    { variable, name, WS_OPTION_##kind, def, least, most, argument, help, offsetof(struct ws_options, field) },
    WS_OPTIONS(OPTION)
#undef OPTION
};
const size_t ws_option_count = sizeof(ws_option_table) / sizeof(ws_option_table[0]);

static const struct ws_option_old_name old_names[] = {
    { "event-placement", "WALLSHIM_MARKS", "marks", "marks", "shared" },
};

const struct ws_option_old_name *ws_option_old_name(const char *name)
{
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
        if (!strcmp(old_names[i].name, name))
            return &old_names[i];
    return NULL;
}

const char *ws_option_in_environment(const struct ws_option_info *info, const char **variable)
{
    const struct ws_option_old_name *old = ws_option_old_name(info->name);
    const char *text = secure_getenv(info->variable);
    *variable = !text && old && secure_getenv(old->old_variable) ? old->old_variable : info->variable;
    return text ? text : secure_getenv(*variable);
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Parses a whole or decimal number with a unit. Returns 0 or -EINVAL. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *value)
{
    uint64_t whole = 0, fraction = 0, scale = 1;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (whole > (UINT64_MAX - 9) / 10)
            return -EINVAL;
        whole = whole * 10 + (uint64_t)(*at - '0');
    }
    if (at == text)
        return -EINVAL;
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            if (scale > 1000000000)
                return -EINVAL;
            fraction = fraction * 10 + (uint64_t)(*at - '0');
            scale *= 10;
        }
    }
    for (; units->name; units++) {
        if (strcmp(at, units->name))
            continue;
        if (whole > UINT64_MAX / 2 / units->factor)
            return -EINVAL;
        *value = whole * units->factor + (uint64_t)((unsigned __int128)fraction * units->factor / scale);
        return 0;
    }
    return -EINVAL;
}

int ws_parse_duration(const char *text, uint64_t *ns)
{
    static const struct unit units[] = {
        { "", 1000000000 },   { "s", 1000000000 },    { "ms", 1000000 },       { "us", 1000 }, { "ns", 1 },
        { "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 }, { NULL, 0 }
    };
    return parse_scaled(text, units, ns);
}

int ws_parse_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = { { "", 1 },        { "K", 1 << 10 }, { "k", 1 << 10 },
                                         { "M", 1 << 20 }, { "G", 1 << 30 }, { NULL, 0 } };
    return parse_scaled(text, units, bytes);
}

int ws_parse_burst(const char *text, uint64_t *on, uint64_t *period)
{
    if (!*text) {
        *on = *period = 0;
        return 0;
    }
    const char *slash = strchr(text, '/');
    char first[32];
    uint64_t parsed_on, parsed_period;
    if (!slash || (size_t)(slash - text) >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = 0;
    if (ws_parse_duration(first, &parsed_on) || ws_parse_duration(slash + 1, &parsed_period) || !parsed_on ||
        parsed_on > parsed_period)
        return -EINVAL;
    *on = parsed_on;
    *period = parsed_period;
    return 0;
}

/* Returns the index of text among the words of "a|b|c", or -1. */
static int word_place(const char *text, const char *words)
{
    size_t length = strlen(text);
    int place = 0;
    if (strchr(text, '|'))
        return -1;
    for (const char *word = words; word; word = strchr(word, '|'), place++) {
        word += *word == '|';
        if (!strncmp(word, text, length) && (word[length] == '|' || !word[length]))
            return place;
    }
    return -1;
}

static int set_choice(const struct ws_option_info *info, const char *text, uint32_t *field)
{
    const struct ws_option_old_name *old = ws_option_old_name(info->name);
    int place = word_place(old && !strcmp(text, old->old_word) ? old->word : text, info->argument);
    if (place < 0)
        return -EINVAL;
    *field = (uint32_t)place;
    return 0;
}

/* Parses text as a number of the option's kind. Returns 0 or -EINVAL. */
static int parse_number(const struct ws_option_info *info, const char *text, uint64_t *number)
{
    static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };
    static const struct unit share[] = { { "%", 10000 }, { "", 10000 }, { NULL, 0 } };
    switch (info->kind) {
    case WS_OPTION_COUNT:
        return strchr(text, '.') ? -EINVAL : parse_scaled(text, plain, number);
    case WS_OPTION_DURATION:
        return ws_parse_duration(text, number);
    case WS_OPTION_SIZE:
        return ws_parse_size(text, number);
    case WS_OPTION_SHARE:
        return parse_scaled(text, share, number);
    default:
        return -EINVAL;
    }
}

static bool within(const struct ws_option_info *info, uint64_t number)
{
    uint64_t least = 0, most = UINT64_MAX;
    if (*info->least)
        parse_number(info, info->least, &least);
    if (*info->most)
        parse_number(info, info->most, &most);
    return number >= least && number <= most;
}

int ws_option_set(struct ws_options *options, const struct ws_option_info *info, const char *text)
{
    char *field = (char *)options + info->offset;
    uint64_t number, period;
    switch (info->kind) {
    case WS_OPTION_TEXT:
        if (info->offset == offsetof(struct ws_options, burst) && ws_parse_burst(text, &number, &period))
            return -EINVAL;
        memcpy(field, &text, sizeof(text));
        return 0;
    case WS_OPTION_CHOICE:
        return set_choice(info, text, (uint32_t *)field);
    case WS_OPTION_FLAG:
        if (strcmp(text, "0") && strcmp(text, "1"))
            return -EINVAL;
        *(bool *)field = *text == '1';
        return 0;
    default:
        if (parse_number(info, text, &number) || !within(info, number))
            return -EINVAL;
        memcpy(field, &number, sizeof(number));
        return 0;
    }
}

static const char *example_of(const struct ws_option_info *info)
{
    switch (info->kind) {
    case WS_OPTION_DURATION:
        return ", as 500ms, 2s or 1m";
    case WS_OPTION_SIZE:
        return ", as 64M or 2G";
    case WS_OPTION_COUNT:
        return ", a whole number";
    case WS_OPTION_SHARE:
        return ", as 2% or 0.5%";
    default:
        return strcmp(info->name, "burst") ? "" : ", as 1s/30s, ON no longer than PERIOD";
    }
}

const char *ws_option_takes(const struct ws_option_info *info, char *text, size_t size)
{
    bool bounded = *info->least && *info->most;
    snprintf(text, size, "%s%s%s%s%s%s", info->argument, example_of(info), bounded ? ", from " : "", info->least,
             bounded ? " to " : "", info->most);
    return text;
}

void ws_options_from_environment(struct ws_options *options, const struct ws_option_info **bad)
{
    *bad = NULL;
    for (size_t i = 0; i < ws_option_count; i++) {
        const struct ws_option_info *info = &ws_option_table[i];
        const char *variable, *text = ws_option_in_environment(info, &variable);
        ws_option_set(options, info, info->fallback);
        if (text && ws_option_set(options, info, text) && !*bad)
            *bad = info;
    }
}
