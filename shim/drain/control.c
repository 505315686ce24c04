#include "shim/drain/control.h"

#include "shim/drain/recording.h"
#include "shim/drain/trace.h"
#include "shim/state/phase.h"
#include "wire/options.h"

enum { LOOK_NS = 100000000 };

void control_look(int64_t now)
{
    static int64_t last;
    struct link_wishes wishes;
    uint64_t on, period;
    if (now - last < LOOK_NS)
        return;
    last = now;
    if (!trace_hear(shim_phase() & SHIM_RECORDING, &wishes))
        return;
    if (wishes.burst && !ws_parse_burst(wishes.burst_text, &on, &period))
        recording_set_burst(on, period);
    if (wishes.start || wishes.stop)
        recording_set_stopped(wishes.stop);
}
