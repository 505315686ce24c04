/* Squares and square roots without libm: the shim has none to call. */
#ifndef WALLSHIM_BASE_ROOT_H
#define WALLSHIM_BASE_ROOT_H

#include <stdint.h>
#include <string.h>

static inline double ws_square(double value)
{
    return value * value;
}

/* Of a number that is not negative; a relative error of 1e-6 at most. Newton's method, from half the exponent. */
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
