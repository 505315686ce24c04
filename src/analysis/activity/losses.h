/* Operations and calls that the trace lacks, and how wrong the times in the trace may be. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_LOSSES_H
#define WALLSHIM_ANALYSIS_ACTIVITY_LOSSES_H

#include "report/analysis.h"

struct ws_process_losses {
    uint64_t count[WS_LOSS_COUNT];
    uint64_t unknown; /* operations and calls lost for a reason that this version of wallshim does not know */
    uint64_t total;
    uint64_t nameless; /* operations that are in the trace, but whose description (name, stream …) was lost */
};

extern const struct ws_analysis ws_analysis_losses;

/* The losses of a process, summed up for a reader. What was launched outside the time that the user asked for, or
 * between bursts, is left out. */
struct ws_loss_sums {
    uint64_t before;  /* operations that were launched before the recording: only their launches are missing */
    uint64_t counted; /* calls that were only counted, in pauses to keep --overhead */
    uint64_t lost;    /* events that were not recorded in full, for other reasons */
};
struct ws_loss_sums ws_losses_sum(const struct ws_report *report, size_t process);

/* Is the trace complete? It is complete if no operation, call or description of an operation was lost, no call has an
 * impossible host time, and the file is not damaged. */
bool ws_losses_is_complete(const struct ws_process *process, const struct ws_process_losses *losses);

/* defined in losses_report.c */
void ws_losses_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_losses_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
