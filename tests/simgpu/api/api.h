/* The macros that define the driver's functions.
 *
 * API(name, parameters, arguments) { body } exports one function. Before the body runs, the call is refused when the
 * driver is not initialised, or when the function is newer than SIMGPU_DRIVER_VERSION. API_TWIN also exports the
 * function's twin (the same name with _ptsz or _ptds). In a twin, the null stream is the calling thread's own default
 * stream. Function and twin run the same body; only sim_stream_get gives them different streams. API_SAME exports one
 * more name for a function that was defined before. */
#ifndef SIMGPU_API_H
#define SIMGPU_API_H

#include <signal.h>

#include "driver_names.h"
#include "engine/engine.h"

#define EXPORT __attribute__((visibility("default")))

/* Says on stderr, once for each name, that the simulated driver lacks this function. Returns NOT_SUPPORTED. */
ws_CUresult sim_not_supported(const char *name);

/* With SIMGPU_CAPTURE_STRICT, refuses calls that the documentation does not explicitly allow during a capture. */
ws_CUresult sim_capture_doubts(const char *name);

static inline ws_CUresult api_enter(const char *name, int version)
{
    int gate = sim_gate();
    if (gate != WS_CUDA_SUCCESS)
        return gate;
    if (version > sim_config.driver_version)
        return sim_not_supported(name);
    return __builtin_expect(sim_config.capture_strict != 0, 0) ? sim_capture_doubts(name) : WS_CUDA_SUCCESS;
}

/* With SIMGPU_HOLD_SIGNALS no signal handler runs inside a call of the simulated driver. A handler may therefore call
 * the driver: the thread that it interrupts never holds one of the driver's locks. */
static inline bool api_hold_signals(sigset_t *before)
{
    sigset_t all;
    if (__builtin_expect(!sim_config.hold_signals, 1))
        return false;
    sigfillset(&all);
    return !pthread_sigmask(SIG_SETMASK, &all, before);
}

static inline void api_let_signals(bool held, const sigset_t *before)
{
    if (__builtin_expect(held, 0))
        pthread_sigmask(SIG_SETMASK, before, NULL);
}

#define API_NAME(name, body, arguments, parameters, twin)          \
    EXPORT ws_CUresult name parameters;                            \
    EXPORT ws_CUresult name parameters                             \
    {                                                              \
        sigset_t signals;                                          \
        bool held = api_hold_signals(&signals);                    \
        ws_CUresult result = api_enter(#name, SIM_VERSION_##name); \
        if (result == WS_CUDA_SUCCESS) {                           \
            if (twin)                                              \
                sim_per_thread = true;                             \
            result = body arguments;                               \
            if (twin)                                              \
                sim_per_thread = false;                            \
        }                                                          \
        api_let_signals(held, &signals);                           \
        return result;                                             \
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

/* NEED and the macros after it are the checks with which most function bodies begin. */
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
