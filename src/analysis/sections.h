/* Analyses that nothing but the registry needs to know. */
#ifndef WALLSHIM_ANALYSIS_SECTIONS_H
#define WALLSHIM_ANALYSIS_SECTIONS_H

#include "analysis/registry.h"

extern const struct ws_analysis ws_analysis_overview; /* what was recorded */
extern const struct ws_analysis ws_analysis_gaps;     /* when the device ran nothing */
extern const struct ws_analysis ws_analysis_launches; /* how long work waited to run */
extern const struct ws_analysis ws_analysis_sync;     /* where the host waited for the device */
extern const struct ws_analysis ws_analysis_losses;   /* what is not in the trace */

#endif
