/* Parses decimal numbers to integers exactly: 1712195495519689.047 µs does not fit a double. */
#ifndef WALLSHIM_INPUT_DECIMAL_H
#define WALLSHIM_INPUT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_DECIMAL_MOST ((int64_t)1 << 61)

/* Parses the number times 10^shift, with an optional exponent. Remaining decimals are rounded, halves away from 0.
 * Returns false if the text is not a number or the result is beyond ± WS_DECIMAL_MOST. */
bool ws_decimal(const char *text, size_t length, int shift, int64_t *value);

#endif
