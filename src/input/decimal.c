#include "input/decimal.h"

enum { MOST_EXPONENT = 1000 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Finds the exponent, the number after a letter e or E. Stores the position of this letter in *at, or `length` if
 * there is no such letter. Stores the exponent in *exponent, or 0 if there is none. Returns false if the letter is
 * not followed by a number. */
static bool find_exponent(const char *text, size_t length, size_t *at, int *exponent)
{
    size_t i = 0;
    while (i < length && text[i] != 'e' && text[i] != 'E')
        i++;
    *at = i;
    *exponent = 0;
    if (i == length)
        return true;
    bool negative = ++i < length && text[i] == '-';
    if (i < length && (text[i] == '-' || text[i] == '+'))
        i++;
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        if (*exponent < MOST_EXPONENT)
            *exponent = *exponent * 10 + (text[i] - '0');
    }
    if (negative)
        *exponent = -*exponent;
    return true;
}

static bool decimal_append(int64_t *number, int digit)
{
    if (*number > (WS_DECIMAL_MOST - digit) / 10)
        return false;
    *number = *number * 10 + digit;
    return true;
}

/* Parses the usual form of a number quickly: digits with or without a point, and at most `shift` digits after the
 * point. Returns false for every other text and for results that are too large; ws_decimal then parses the text by
 * its general rules. */
static bool parse_plain(const char *text, size_t length, int shift, int64_t *value)
{
    enum { MOST_DIGITS = 19 }; /* a uint64_t holds every number with this many digits */
    uint64_t result = 0;
    size_t point = length;
    if (length > MOST_DIGITS + 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (is_digit(text[i]))
            result = result * 10 + (uint64_t)(text[i] - '0');
        else if (text[i] == '.' && point == length)
            point = i;
        else
            return false;
    }
    size_t digits = length - (point < length), behind = point < length ? length - 1 - point : 0;
    if (!digits || shift < 0 || behind > (size_t)shift || digits + ((size_t)shift - behind) > MOST_DIGITS)
        return false;
    for (; behind < (size_t)shift; behind++)
        result *= 10;
    *value = (int64_t)result;
    return result <= WS_DECIMAL_MOST;
}

bool ws_decimal(const char *text, size_t length, int shift, int64_t *value)
{
    bool negative = length && *text == '-', any = false;
    size_t end, point = length;
    int exponent;
    int64_t result = 0;
    if (parse_plain(text, length, shift, value))
        return true;
    if (!find_exponent(text, length, &end, &exponent))
        return false;
    for (size_t i = negative; i < end && point == length; i++)
        if (text[i] == '.')
            point = i;
    if (point > end)
        point = end;
    /* The exponent and `shift` move the decimal point. The result consists of the `kept` digits before the moved
     * point; the first digit after it decides whether the result is rounded up. */
    int64_t kept = (int64_t)(point - negative) + exponent + shift, seen = 0;
    for (size_t i = negative; i < end; i++) {
        if (i == point)
            continue;
        if (!is_digit(text[i]))
            return false;
        any = true;
        if (seen < kept && !decimal_append(&result, text[i] - '0'))
            return false;
        if (seen == kept && text[i] >= '5')
            result++;
        seen++;
    }
    for (; result && seen < kept; seen++)
        if (!decimal_append(&result, 0))
            return false;
    *value = negative ? -result : result;
    return any;
}
