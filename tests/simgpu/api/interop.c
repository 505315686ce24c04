/* Functions for graphics interfaces. The real library exports them, although NVIDIA's stub library does not. Programs
 * look these functions up, and ffmpeg does not start if one is missing. Here each of them returns "not supported". */
#include "api/api.h"

#define WITH_OPENGL(X)            \
    X(cuGLCtxCreate_v2)           \
    X(cuGLGetDevices)             \
    X(cuGLGetDevices_v2)          \
    X(cuGLInit)                   \
    X(cuGLMapBufferObject_v2)     \
    X(cuGLRegisterBufferObject)   \
    X(cuGLUnmapBufferObject)      \
    X(cuGLUnregisterBufferObject) \
    X(cuGraphicsGLRegisterBuffer) \
    X(cuGraphicsGLRegisterImage)

#define WITH_EGL(X)                        \
    X(cuEGLStreamConsumerAcquireFrame)     \
    X(cuEGLStreamConsumerConnect)          \
    X(cuEGLStreamConsumerConnectWithFlags) \
    X(cuEGLStreamConsumerDisconnect)       \
    X(cuEGLStreamConsumerReleaseFrame)     \
    X(cuEGLStreamProducerConnect)          \
    X(cuEGLStreamProducerDisconnect)       \
    X(cuEGLStreamProducerPresentFrame)     \
    X(cuEGLStreamProducerReturnFrame)      \
    X(cuEventCreateFromEGLSync)            \
    X(cuGraphicsEGLRegisterImage)          \
    X(cuGraphicsResourceGetMappedEglFrame)

#define X(name)                                 \
    EXPORT ws_CUresult name(void);              \
    EXPORT ws_CUresult name(void)               \
    {                                           \
        static atomic_flag said;                \
        if (!atomic_flag_test_and_set(&said))   \
            sim_log(#name " is not supported"); \
        return WS_CUDA_ERROR_NOT_SUPPORTED;     \
    }
WITH_OPENGL(X)
WITH_EGL(X)
