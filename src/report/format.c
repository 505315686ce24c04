#include <math.h>
#include <string.h>

#include "report/page.h"

/* Writes three significant digits. */
static void format_scaled(char *text, double value, const char *unit)
{
    double size = fabs(value);
    int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    snprintf(text, WS_FORMAT_SIZE - sizeof("−"), "%.*f %s", decimals, value, unit);
}

const char *ws_format_time(char text[WS_FORMAT_SIZE], int64_t ns)
{
    static const char minus[] = "−"; /* the minus sign U+2212, which `diff` also prints (compare/text.c) */
    double value = fabs((double)ns);
    char *all = text;
    if (ns < 0)
        text = stpcpy(text, minus);
    if (value < 1000)
        snprintf(text, WS_FORMAT_SIZE - sizeof(minus), "%.0f ns", value);
    else if (value < 999.5e3)
        format_scaled(text, value / 1e3, "µs");
    else if (value < 999.5e6)
        format_scaled(text, value / 1e6, "ms");
    else
        format_scaled(text, value / 1e9, "s");
    return all;
}

const char *ws_format_bytes(char text[WS_FORMAT_SIZE], uint64_t bytes)
{
    double value = (double)bytes;
    if (value < 1000)
        snprintf(text, WS_FORMAT_SIZE, "%.0f B", value);
    else if (value < 999.5e3)
        format_scaled(text, value / 1e3, "kB");
    else if (value < 999.5e6)
        format_scaled(text, value / 1e6, "MB");
    else if (value < 999.5e9)
        format_scaled(text, value / 1e9, "GB");
    else
        format_scaled(text, value / 1e12, "TB");
    return text;
}

const char *ws_format_flops(char text[WS_FORMAT_SIZE], double flops)
{
    static const char *const units[] = { "FLOPs", "kFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs" };
    size_t unit = 0;
    for (; flops >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        flops /= 1000;
    if (unit)
        format_scaled(text, flops, units[unit]);
    else
        snprintf(text, WS_FORMAT_SIZE, "%.0f %s", flops, units[unit]);
    return text;
}

const char *ws_format_real(char text[WS_FORMAT_SIZE], double value)
{
    if (value >= 999.95)
        snprintf(text, WS_FORMAT_SIZE, "%.0f", value);
    else if (value > 0 && value < 0.0001)
        snprintf(text, WS_FORMAT_SIZE, "< 0.0001");
    else if (value < 0.01)
        snprintf(text, WS_FORMAT_SIZE, "%.4f", value);
    else
        snprintf(text, WS_FORMAT_SIZE, "%.4g", value);
    return text;
}

const char *ws_format_count(char text[WS_FORMAT_SIZE], uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return text;
}

const char *ws_format_each(char text[WS_FORMAT_SIZE], uint64_t count, size_t steps)
{
    if (!steps || count % steps == 0 || count / steps >= 10)
        return ws_format_count(text, steps ? (count + steps / 2) / steps : count);
    double each = (double)count / (double)steps;
    if (each < 0.0001) /* for smaller numbers %g would use scientific notation */
        snprintf(text, WS_FORMAT_SIZE, "< 0.0001");
    else
        snprintf(text, WS_FORMAT_SIZE, each < 0.05 ? "%.1g" : "%.1f", each);
    return text;
}

const char *ws_format_share(char text[WS_FORMAT_SIZE], int64_t part, int64_t whole)
{
    if (whole <= 0)
        snprintf(text, WS_FORMAT_SIZE, "–");
    else
        snprintf(text, WS_FORMAT_SIZE, "%.1f %%", 100.0 * (double)part / (double)whole);
    return text;
}
