#include "analysis/registry.h"

#include "analysis/activity.h"
#include "analysis/chains.h"
#include "analysis/comm.h"
#include "analysis/copies.h"
#include "analysis/gap_waits.h"
#include "analysis/gaps.h"
#include "analysis/host_time.h"
#include "analysis/kernels.h"
#include "analysis/memory.h"
#include "analysis/ranges.h"
#include "analysis/roofline.h"
#include "analysis/savings.h"
#include "analysis/sections.h"
#include "analysis/steps.h"
#include "analysis/storms.h"
#include "analysis/stream_order.h"
#include "analysis/wall.h"

/* In the order of the report. */
/* clang-format off */
const struct ws_analysis *const ws_analyses[] = {
    &ws_analysis_verdict,
    &ws_analysis_wall,
    &ws_analysis_overview,
    &ws_analysis_activity,
    &ws_analysis_step_bounds,
    &ws_analysis_steps,
    &ws_analysis_ranges,
    &ws_analysis_kernels,
    &ws_analysis_roofline,
    &ws_analysis_host_time,
    &ws_analysis_causes,
    &ws_analysis_stream_order,
    &ws_analysis_gap_waits,
    &ws_analysis_savings,
    &ws_analysis_gaps,
    &ws_analysis_storms,
    &ws_analysis_chains,
    &ws_analysis_launches,
    &ws_analysis_copies,
    &ws_analysis_memory,
    &ws_analysis_sync,
    &ws_analysis_comm_ops,
    &ws_analysis_comm_match,
    &ws_analysis_collectives,
    &ws_analysis_punctual,
    &ws_analysis_ranks,
    &ws_analysis_losses,
};
/* clang-format on */
const size_t ws_analysis_count = sizeof(ws_analyses) / sizeof(ws_analyses[0]);
