/* Random numbers (SplitMix64). The same seed always gives the same numbers. */
#ifndef WALLSHIM_TESTS_RANDOM_H
#define WALLSHIM_TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
