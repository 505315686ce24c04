/* Predicts the next value of a column from the two values before it. The encoder and the decoder of SLOTS columns use
 * this prediction; such columns have few distinct values. If a program repeats the same operations, the prediction is
 * nearly always right. */
#ifndef WALLSHIM_WIRE_PREDICT_H
#define WALLSHIM_WIRE_PREDICT_H

#include <stdint.h>

enum { WS_PREDICTOR_BITS = 12 };

/* The index of a value among the frame's distinct values, in the order of first appearance. */
typedef uint16_t ws_slot;

/* The slots of the last two rows. They are not in struct ws_predictor, so that loops can keep them in registers. */
struct ws_history {
    uint32_t before;
    uint32_t two_before;
};

struct ws_predictor {
    ws_slot table[1 << WS_PREDICTOR_BITS];
};

/* Returns the table entry that holds the predicted slot of the next row. At first the table is all 0. */
static inline ws_slot *ws_predictor_guess(struct ws_predictor *predictor, struct ws_history history)
{
    uint32_t hash = history.before * 0x9e3779b1u ^ history.two_before * 0x85ebca77u;
    return &predictor->table[hash >> (32 - WS_PREDICTOR_BITS)];
}

static inline struct ws_history ws_predictor_learn(struct ws_history history, ws_slot *guess, uint32_t slot)
{
    *guess = (ws_slot)slot;
    return (struct ws_history){ .before = slot, .two_before = history.before };
}

#endif
