#include "analysis/analyses.h"

#include "analysis/activity/activity.h"
#include "analysis/activity/first_calls.h"
#include "analysis/activity/host_time.h"
#include "analysis/activity/launches.h"
#include "analysis/activity/losses.h"
#include "analysis/activity/overview.h"
#include "analysis/activity/recorded.h"
#include "analysis/activity/stream_order.h"
#include "analysis/activity/sync.h"
#include "analysis/comm/comm.h"
#include "analysis/gaps/code_tree.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
#include "analysis/gaps/savings.h"
#include "analysis/gaps/storms.h"
#include "analysis/kernels/graphs.h"
#include "analysis/kernels/kernels.h"
#include "analysis/kernels/lengths.h"
#include "analysis/memory/copies.h"
#include "analysis/memory/memory.h"
#include "analysis/roofline/chains.h"
#include "analysis/roofline/named_patterns.h"
#include "analysis/roofline/roofline.h"
#include "analysis/roofline/unfused.h"
#include "analysis/steps/health.h"
#include "analysis/steps/modules.h"
#include "analysis/steps/ranges.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/summary.h"
#include "analysis/verdict/wall.h"

/* in the order of the report's sections */
/* clang-format off */
static const struct ws_analysis *const list[] = {
    &ws_analysis_verdict,
    &ws_analysis_wall,
    &ws_analysis_overview,
    &ws_analysis_recorded,
    &ws_analysis_lengths,
    &ws_analysis_activity,
    &ws_analysis_step_bounds,
    &ws_analysis_steps,
    &ws_analysis_health,
    &ws_analysis_ranges,
    &ws_analysis_modules,
    &ws_analysis_operators,
    &ws_analysis_kernels,
    &ws_analysis_graphs,
    &ws_analysis_roofline,
    &ws_analysis_host_time,
    &ws_analysis_first_calls,
    &ws_analysis_causes,
    &ws_analysis_initialization,
    &ws_analysis_stream_order,
    &ws_analysis_gap_waits,
    &ws_analysis_savings,
    &ws_analysis_gaps,
    &ws_analysis_code_tree,
    &ws_analysis_storms,
    &ws_analysis_unfused,
    &ws_analysis_named,
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

static size_t slowest_device(const struct ws_report *report)
{
    return ws_report_slowest(report).shown;
}

const struct ws_analyses ws_all_analyses = { list, sizeof(list) / sizeof(list[0]), ws_class_of_name, slowest_device,
                                             ws_summary_print };
