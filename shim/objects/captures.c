#include "shim/objects/captures.h"

#include "shim/hook/driver_calls.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/lock.h"

static bool is_capturing(const struct shim_stream *stream)
{
    ws_CUenum status = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    struct driver_ask asking;
    driver_ask_begin(&asking);
    bool known = driver.stream_is_capturing && driver.stream_is_capturing(stream->handle, &status) == WS_CUDA_SUCCESS;
    driver_ask_end(&asking);
    return !known || status != WS_CU_STREAM_CAPTURE_STATUS_NONE;
}

void capture_is_left(struct shim_thread *thread, bool ask)
{
    if (!thread->captures_beginning && !thread->capture_ending)
        return;
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    ws_CUstream handle = (ws_CUstream)(uintptr_t)thread->capture_handle;
    struct shim_stream *known = handle ? stream_known(handle, false, thread->context) : NULL, *stream = known;
    /* The legacy stream is never captured. */
    if (stream && (stream->kind == WS_STREAM_LEGACY || (ask && !is_capturing(stream))))
        stream = NULL;
    for (; thread->captures_beginning; thread->captures_beginning--)
        if (!stream || atomic_exchange(&stream->capturing, 1))
            shim_capture_ends();
    if (thread->capture_ending && known && !stream)
        stream_capture_over(known);
    thread->capture_ending = false;
    quiet_end(&quiet);
}
