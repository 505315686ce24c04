/* Decimal numbers as they stand in a file, to integers, exactly: 1712195495519689.047 µs does not fit a double. */
#ifndef WALLSHIM_IMPORT_DECIMAL_H
#define WALLSHIM_IMPORT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_DECIMAL_MOST ((int64_t)1 << 61)

/* The number times 10^shift; what is then left behind the point is rounded, a half away from 0. Takes an
 * exponent, too. False when the text is no number or the result lies beyond ± WS_DECIMAL_MOST. */
bool ws_decimal(const char *text, size_t length, int shift, int64_t *value);

#endif
