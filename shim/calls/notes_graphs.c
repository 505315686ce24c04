/* The functions of notes.h for stream captures and graphs. */
#include "shim/calls/notes.h"

#include "shim/counters/counters.h"
#include "shim/objects/graphs.h"
#include "shim/state/lock.h"

/* Counts the capture before the real call begins it, so that no event that the shim records becomes part of the
 * capture. A stream that the shim does not know yet is looked up now, because the shim asks the driver nothing about
 * a stream that is being captured (ask_about in objects/streams.c). */
void capture_beginning(struct call *call, ws_CUstream stream)
{
    waiting(call, stream);
    struct shim_thread *thread = call_thread(call);
    struct shim_stream *found = thread ? stream_find(stream, call->per_thread, thread->context) : NULL;
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    shim_capture_begins();
    if (thread) {
        thread->captures_beginning++;
        thread->capture_handle = found ? AT(found->handle) : 0;
    }
    quiet_end(&quiet);
    if (shim_options.counters)
        counters_pause();
}

void capture_begun(struct call *call, ws_CUstream stream)
{
    struct shim_stream *found = NULL;
    struct shim_thread *counted_by = call_thread(call);
    /* If this is the thread's first CUDA call, thread_get makes the thread's state. */
    struct shim_thread *thread = call->thread || call->result != WS_CUDA_SUCCESS ? call->thread : thread_get();
    if (call->result == WS_CUDA_SUCCESS && thread)
        found = stream_find(stream, call->per_thread, thread->context);
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    /* capture_beginning has counted the capture in shim_page.phase. If capture_is_left (objects/captures.h) was
     * called since then, the capture is no longer counted, so this function counts it again. */
    bool counted = !counted_by || counted_by->captures_beginning;
    if (counted_by && counted)
        counted_by->captures_beginning--;
    if (!counted)
        shim_capture_begins();
    /* The count of captures is decremented again if the call failed, or if the shim has no entry for the stream and
     * so could not see the capture's end. The count is also decremented if this stream's capture was counted
     * before. */
    if (!found || atomic_exchange(&found->capturing, 1))
        shim_capture_ends();
    quiet_end(&quiet);
    host_call(call, stream, NULL, 0, 0);
}

/* May the capture go on after cuStreamEndCapture returned `result`? The capture goes on if the call came from the
 * wrong thread or passed the wrong stream. */
static bool capture_goes_on(int32_t result)
{
    return result == WS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD || result == WS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
           result == WS_CUDA_ERROR_ILLEGAL_STATE || result == WS_CUDA_ERROR_INVALID_VALUE;
}

static struct shim_stream *stream_of_call(const struct call *call, ws_CUstream stream)
{
    struct shim_thread *thread = call_thread(call);
    struct shim_context *context = thread ? thread->context : NULL;
    return shim_started() ? stream_known(stream, call->per_thread, context) : NULL;
}

void capture_ending(struct call *call, ws_CUstream stream)
{
    struct shim_stream *found = call->thread ? stream_of_call(call, stream) : NULL;
    if (!found)
        return;
    call->thread->capture_handle = AT(found->handle);
    atomic_signal_fence(memory_order_seq_cst);
    call->thread->capture_ending = true;
}

void capture_ended(struct call *call, ws_CUstream stream, ws_CUgraph *graph)
{
    struct shim_stream *found = stream_of_call(call, stream);
    if (found && !capture_goes_on(call->result))
        stream_capture_over(found);
    if (call->thread)
        call->thread->capture_ending = false;
    host_call(call, stream, call->result == WS_CUDA_SUCCESS && graph ? *graph : NULL, 0, 0);
}

void graph_instantiated(struct call *call, ws_CUgraphExec *exec, ws_CUgraph graph)
{
    if (call->result == WS_CUDA_SUCCESS && exec && thread_get())
        graph_describe(*exec, graph);
    host_call(call, NO_STREAM, graph, 0, 0);
}

/* cuGraphExecUpdate keeps the graph's nodes and their order. So the dictionary rows that graph_describe wrote for the
 * nodes stay valid. */
void graph_updated(struct call *call, ws_CUgraphExec exec)
{
    host_call(call, NO_STREAM, exec, 0, 0);
}

void graph_exec_ending(struct call *call, ws_CUgraphExec exec)
{
    (void)call;
    if (shim_started())
        graph_forget(exec);
}
