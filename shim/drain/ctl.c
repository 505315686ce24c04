#include "shim/drain/ctl.h"

#include "shim/drain/progress.h"
#include "shim/drain/recording.h"
#include "shim/drain/trace.h"
#include "shim/state/phase.h"
#include "wire/options.h"

enum { LOOK_NS = 100000000 };

static bool asked;
static uint32_t asked_number;

bool ctl_is_asked(void)
{
    return asked;
}

void ctl_tell_progress(int64_t now)
{
    static uint8_t bytes[WS_PROGRESS_MAX];
    asked = false;
    trace_tell_progress(asked_number, bytes, progress_write(bytes, now));
}

void ctl_look(int64_t now)
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
    if (wishes.flush) {
        asked = true;
        asked_number = wishes.flush_number;
    }
    if (wishes.start || wishes.stop)
        recording_set_stopped(wishes.stop);
}
