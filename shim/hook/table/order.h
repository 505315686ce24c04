/* The rows of the wrapper table (see driver_table.h) for functions that wait, make a stream wait, record or read an
 * event, or capture a stream. */
/* clang-format off */
DRIVER_PTSZ(cuStreamSynchronize, cuStreamSynchronize, 2000, SYNC,
    (ws_CUstream hStream), (hStream), wait_begins(&call, hStream, NULL), wait_ended(&call, hStream, NULL))
DRIVER_PTSZ(cuStreamQuery, cuStreamQuery, 2000, SYNC,
    (ws_CUstream hStream), (hStream), waiting(&call, hStream), queried(&call, hStream, NULL))
DRIVER_PTSZ(cuStreamWaitEvent, cuStreamWaitEvent, 3020, EVENT,
    (ws_CUstream hStream, ws_CUevent hEvent, unsigned Flags), (hStream, hEvent, Flags), wait_coming(&call, hStream),
    wait_ordered(&call, hStream, hEvent))
DRIVER(cuCtxWaitEvent, cuCtxWaitEvent, 12050, EVENT,
    (ws_CUcontext hCtx, ws_CUevent hEvent), (hCtx, hEvent), wait_coming_all(&call), wait_ordered_all(&call, hEvent))
DRIVER(cuGreenCtxWaitEvent, cuGreenCtxWaitEvent, 12040, EVENT,
    (ws_CUgreenCtx hCtx, ws_CUevent hEvent), (hCtx, hEvent), wait_coming_all(&call), wait_ordered_all(&call, hEvent))
DRIVER_PTSZ(cuEventRecord, cuEventRecord, 2000, EVENT,
    (ws_CUevent hEvent, ws_CUstream hStream), (hEvent, hStream), waiting(&call, hStream),
    host_call(&call, hStream, hEvent, 0, 0))
DRIVER_PTSZ(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, EVENT,
    (ws_CUevent hEvent, ws_CUstream hStream, unsigned flags), (hEvent, hStream, flags), waiting(&call, hStream),
    host_call(&call, hStream, hEvent, 0, 0))
DRIVER(cuEventSynchronize, cuEventSynchronize, 2000, SYNC,
    (ws_CUevent hEvent), (hEvent), wait_begins_all(&call, hEvent), wait_ended(&call, NO_STREAM, hEvent))
DRIVER(cuEventQuery, cuEventQuery, 2000, SYNC,
    (ws_CUevent hEvent), (hEvent), waiting_all(&call), queried(&call, NO_STREAM, hEvent))
DRIVER(cuCtxSynchronize, cuCtxSynchronize, 2000, SYNC,
    (void), (), wait_begins_all(&call, NULL), wait_ended(&call, NO_STREAM, NULL))
DRIVER(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, SYNC,
    (ws_CUcontext ctx), (ctx), wait_begins_all(&call, ctx), wait_ended(&call, NO_STREAM, ctx))
DRIVER_PTSZ(cuStreamBeginCapture, cuStreamBeginCapture, 10000, CAPTURE,
    (ws_CUstream hStream), (hStream), capture_beginning(&call, hStream), capture_begun(&call, hStream))
DRIVER_PTSZ(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, CAPTURE,
    (ws_CUstream hStream, ws_CUenum mode), (hStream, mode), capture_beginning(&call, hStream),
    capture_begun(&call, hStream))
DRIVER_PTSZ(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, CAPTURE,
    (ws_CUstream hStream, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, const ws_CUgraphEdgeData
     *dependencyData, size_t numDependencies, ws_CUenum mode),
    (hStream, hGraph, dependencies, dependencyData, numDependencies, mode), capture_beginning(&call, hStream),
    capture_begun(&call, hStream))
DRIVER_PTSZ(cuStreamEndCapture, cuStreamEndCapture, 10000, CAPTURE,
    (ws_CUstream hStream, ws_CUgraph *phGraph), (hStream, phGraph), capture_ending(&call, hStream),
    capture_ended(&call, hStream, phGraph))
DRIVER(cuEventElapsedTime, cuEventElapsedTime, 2000, OTHER,
    (float *pMilliseconds, ws_CUevent hStart, ws_CUevent hEnd), (pMilliseconds, hStart, hEnd), NOTHING, NOTHING)
/* clang-format on */
