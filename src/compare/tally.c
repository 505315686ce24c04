#include "compare/tally.h"

#include <errno.h>
#include <stdlib.h>

int ws_tallies_init(struct ws_tallies *tallies, size_t count)
{
    tallies->items = calloc(count + 1, sizeof(*tallies->items));
    tallies->touched = calloc(count + 1, sizeof(*tallies->touched));
    tallies->touched_count = 0;
    return tallies->items && tallies->touched ? 0 : -ENOMEM;
}

void ws_tallies_finish(struct ws_tallies *tallies)
{
    free(tallies->items);
    free(tallies->touched);
}

void ws_tallies_flush(struct ws_tallies *tallies, bool steady)
{
    for (size_t i = 0; i < tallies->touched_count; i++) {
        struct ws_tally *tally = &tallies->items[tallies->touched[i]];
        for (int sampling = WS_PER_RECORDING; sampling <= (steady ? WS_PER_STEP : WS_PER_RECORDING); sampling++) {
            tally->per[sampling].count += tally->count;
            ws_sum_add(&tally->per[sampling].time, tally->now, tally->error);
        }
        tally->now = tally->count = tally->error = 0;
        tally->touched = false;
    }
    tallies->touched_count = 0;
}
