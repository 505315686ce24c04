/* Squares and square roots without libm, because the shim does not link libm. */
#ifndef WALLSHIM_BASE_ROOT_H
#define WALLSHIM_BASE_ROOT_H

#include <stdint.h>
#include <string.h>

static inline double ws_square(double value)
{
    return value * value;
}

/* Returns the square root with a relative error of at most 1e-6, and 0 for a negative number. Uses Newton's method;
 * the first guess is the value with half its exponent. */
static inline double ws_root(double value)
{
    uint64_t bits;
    double root;
    if (!(value > 0))
        return 0;
    memcpy(&bits, &value, sizeof(bits));
    bits = (bits >> 1) + ((uint64_t)0x3ff << 51);
    memcpy(&root, &bits, sizeof(root));
    for (int i = 0; i < 3; i++)
        root = (root + value / root) / 2;
    return root;
}

#endif
