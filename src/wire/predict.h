/* Guessing which of a few values comes next from the two before: what SLOTS columns stand on, the
 * same for both directions. Programs that repeat themselves are guessed right nearly always. */
#ifndef WALLSHIM_WIRE_PREDICT_H
#define WALLSHIM_WIRE_PREDICT_H

#include <stdint.h>
#include <string.h>

enum { WS_PREDICTOR_BITS = 12 };

/* Number of a value among the frame's distinct ones, in the order of first appearance. */
typedef uint16_t ws_slot;

struct ws_predictor {
    uint32_t before; /* the slots of the two rows before */
    uint32_t two_before;
    ws_slot table[1 << WS_PREDICTOR_BITS];
};

static inline void ws_predictor_start(struct ws_predictor *predictor)
{
    memset(predictor, 0, sizeof(*predictor));
}

/* Where the guess is. */
static inline ws_slot *ws_predictor_guess(struct ws_predictor *predictor)
{
    uint32_t hash = predictor->before * 0x9e3779b1u ^ predictor->two_before * 0x85ebca77u;
    return &predictor->table[hash >> (32 - WS_PREDICTOR_BITS)];
}

static inline void ws_predictor_learn(struct ws_predictor *predictor, ws_slot *guess, uint32_t slot)
{
    *guess = (ws_slot)slot;
    predictor->two_before = predictor->before;
    predictor->before = slot;
}

#endif
