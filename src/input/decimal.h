/* Parses decimal numbers to integers. Does not convert them to double in between, because a double cannot hold a time
 * such as 1712195495519689.047 µs exactly. */
#ifndef WALLSHIM_INPUT_DECIMAL_H
#define WALLSHIM_INPUT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_DECIMAL_MOST ((int64_t)1 << 61)

/* Parses a number, which may have an exponent, and multiplies it by 10^shift. Rounds to the nearest integer, halves
 * away from 0. Returns false if the text is not a number or the result is beyond ± WS_DECIMAL_MOST. */
bool ws_decimal(const char *text, size_t length, int shift, int64_t *value);

#endif
