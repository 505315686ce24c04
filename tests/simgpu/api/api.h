/* How a function of the driver is written down.
 *
 * API(name, parameters, arguments) { body } exports one function. Before the body runs, the call is refused
 * when the driver is not initialised, or when the function is newer than SIMGPU_DRIVER_VERSION.
 * API_TWIN adds the twin whose null stream is the calling thread's own default stream; the body sees the
 * difference only through sim_stream_get. API_SAME exports one more name for a function above it.
 */
#ifndef SIMGPU_API_H
#define SIMGPU_API_H

#include "driver_names.h"
#include "engine/engine.h"

#define EXPORT __attribute__((visibility("default")))

/* Says once for each name that this driver has not got it. */
ws_CUresult sim_not_supported(const char *name);

/* Refuses, with SIMGPU_CAPTURE_STRICT, calls that may be unsafe in a capture. */
ws_CUresult sim_capture_doubts(const char *name);

static inline ws_CUresult api_enter(const char *name, int version)
{
    int gate = atomic_load_explicit(&sim_gate, memory_order_relaxed);
    if (gate != WS_CUDA_SUCCESS)
        return gate;
    if (version > sim_config.driver_version)
        return sim_not_supported(name);
    return __builtin_expect(sim_config.capture_strict != 0, 0) ? sim_capture_doubts(name) : WS_CUDA_SUCCESS;
}

#define API_NAME(name, body, arguments, parameters, per_thread)     \
    EXPORT ws_CUresult name parameters;                             \
    EXPORT ws_CUresult name parameters                              \
    {                                                               \
        ws_CUresult refused = api_enter(#name, SIM_VERSION_##name); \
        if (refused != WS_CUDA_SUCCESS)                             \
            return refused;                                         \
        if (!(per_thread))                                          \
            return body arguments;                                  \
        sim_per_thread = true;                                      \
        ws_CUresult result = body arguments;                        \
        sim_per_thread = false;                                     \
        return result;                                              \
    }

#define API(name, parameters, arguments)                      \
    static ws_CUresult body_##name parameters;                \
    API_NAME(name, body_##name, arguments, parameters, false) \
    static ws_CUresult body_##name parameters

#define API_TWIN(name, suffix, parameters, arguments)                \
    static ws_CUresult body_##name parameters;                       \
    API_NAME(name, body_##name, arguments, parameters, false)        \
    API_NAME(name##suffix, body_##name, arguments, parameters, true) \
    static ws_CUresult body_##name parameters

#define API_SAME(name, like, parameters, arguments) API_NAME(name, body_##like, arguments, parameters, false)

#define API_SAME_TWIN(name, suffix, like, parameters, arguments) \
    API_NAME(name, body_##like, arguments, parameters, false)    \
    API_NAME(name##suffix, body_##like, arguments, parameters, true)

/* The two lines most bodies begin with. */
#define NEED(condition)                         \
    do {                                        \
        if (!(condition))                       \
            return WS_CUDA_ERROR_INVALID_VALUE; \
    } while (0)

#define TRY(call)                     \
    do {                              \
        ws_CUresult tried = (call);   \
        if (tried != WS_CUDA_SUCCESS) \
            return tried;             \
    } while (0)

static inline ws_CUresult event_check(const struct sim_event *event)
{
    if (event && event->magic == SIM_EVENT)
        return WS_CUDA_SUCCESS;
    if (event)
        sim_misused("an event that is gone");
    return WS_CUDA_ERROR_INVALID_HANDLE;
}

#endif
