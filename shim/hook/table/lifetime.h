/* The rows of the wrapper table (see driver_table.h) for functions that make or destroy modules, contexts and
 * streams, look up kernels in modules, or change the current context. Also for cuProfilerStart and cuProfilerStop. */
/* clang-format off */
DRIVER(cuModuleLoad, cuModuleLoad, 2000, MODULE,
    (ws_CUmodule *module, const char *fname), (module, fname), NOTHING,
    host_call(&call, NO_STREAM, OUT(module), 0, 0))
DRIVER(cuModuleLoadData, cuModuleLoadData, 2000, MODULE,
    (ws_CUmodule *module, const void *image), (module, image), NOTHING,
    host_call(&call, NO_STREAM, OUT(module), 0, 0))
DRIVER(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, MODULE,
    (ws_CUmodule *module, const void *image, unsigned numOptions, ws_CUenum *options, void **optionValues),
    (module, image, numOptions, options, optionValues), NOTHING, host_call(&call, NO_STREAM, OUT(module), 0, 0))
DRIVER(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, MODULE,
    (ws_CUmodule *module, const void *fatCubin), (module, fatCubin), NOTHING,
    host_call(&call, NO_STREAM, OUT(module), 0, 0))
DRIVER(cuModuleGetFunction, cuModuleGetFunction, 2000, MODULE,
    (ws_CUfunction *hfunc, ws_CUmodule hmod, const char *name), (hfunc, hmod, name), NOTHING,
    function_found(&call, hfunc, hmod, name))
DRIVER(cuModuleUnload, cuModuleUnload, 2000, MODULE,
    (ws_CUmodule hmod), (hmod), unloading(&call, hmod), host_call(&call, NO_STREAM, hmod, 0, 0))
DRIVER(cuLibraryLoadData, cuLibraryLoadData, 12000, MODULE,
    (ws_CUlibrary *library, const void *code, ws_CUenum *jitOptions, void **jitOptionsValues, unsigned
     numJitOptions, ws_CUenum *libraryOptions, void **libraryOptionValues, unsigned numLibraryOptions),
    (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
     numLibraryOptions),
    NOTHING, host_call(&call, NO_STREAM, OUT(library), 0, 0))
DRIVER(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, MODULE,
    (ws_CUlibrary *library, const char *fileName, ws_CUenum *jitOptions, void **jitOptionsValues, unsigned
     numJitOptions, ws_CUenum *libraryOptions, void **libraryOptionValues, unsigned numLibraryOptions),
    (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
     numLibraryOptions),
    NOTHING, host_call(&call, NO_STREAM, OUT(library), 0, 0))
DRIVER(cuLibraryGetKernel, cuLibraryGetKernel, 12000, MODULE,
    (ws_CUkernel *pKernel, ws_CUlibrary library, const char *name), (pKernel, library, name), NOTHING,
    function_found(&call, pKernel, library, name))
DRIVER(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, MODULE,
    (ws_CUkernel *kernels, unsigned numKernels, ws_CUlibrary lib), (kernels, numKernels, lib), NOTHING,
    kernels_found(&call, kernels, numKernels, lib))
DRIVER(cuLibraryUnload, cuLibraryUnload, 12000, MODULE,
    (ws_CUlibrary library), (library), unloading(&call, library), host_call(&call, NO_STREAM, library, 0, 0))
DRIVER(cuKernelGetFunction, cuKernelGetFunction, 12000, MODULE,
    (ws_CUfunction *pFunc, ws_CUkernel kernel), (pFunc, kernel), NOTHING,
    kernel_function_found(&call, pFunc, kernel))
DRIVER(cuCtxCreate, cuCtxCreate, 2000, LIFETIME,
    (ws_CUcontext *pctx, unsigned flags, ws_CUdevice dev), (pctx, flags, dev), NOTHING, context_made(&call, pctx))
DRIVER(cuCtxCreate_v2, cuCtxCreate, 3020, LIFETIME,
    (ws_CUcontext *pctx, unsigned flags, ws_CUdevice dev), (pctx, flags, dev), NOTHING, context_made(&call, pctx))
DRIVER(cuCtxCreate_v3, cuCtxCreate, 11040, LIFETIME,
    (ws_CUcontext *pctx, void *paramsArray, int numParams, unsigned flags, ws_CUdevice dev),
    (pctx, paramsArray, numParams, flags, dev), NOTHING, context_made(&call, pctx))
DRIVER(cuCtxCreate_v4, cuCtxCreate, 12050, LIFETIME,
    (ws_CUcontext *pctx, ws_CUctxCreateParams *ctxCreateParams, unsigned flags, ws_CUdevice dev),
    (pctx, ctxCreateParams, flags, dev), NOTHING, context_made(&call, pctx))
DRIVER(cuCtxDestroy, cuCtxDestroy, 2000, LIFETIME,
    (ws_CUcontext ctx), (ctx), context_ending(&call, ctx), context_ended(&call, ctx))
DRIVER(cuCtxDestroy_v2, cuCtxDestroy, 4000, LIFETIME,
    (ws_CUcontext ctx), (ctx), context_ending(&call, ctx), context_ended(&call, ctx))
DRIVER(cuCtxSetCurrent, cuCtxSetCurrent, 4000, LIFETIME,
    (ws_CUcontext ctx), (ctx), NOTHING, context_switched(&call, ctx))
DRIVER(cuCtxPushCurrent, cuCtxPushCurrent, 2000, LIFETIME,
    (ws_CUcontext ctx), (ctx), NOTHING, context_switched(&call, ctx))
DRIVER(cuCtxPushCurrent_v2, cuCtxPushCurrent, 4000, LIFETIME,
    (ws_CUcontext ctx), (ctx), NOTHING, context_switched(&call, ctx))
DRIVER(cuCtxPopCurrent, cuCtxPopCurrent, 2000, LIFETIME,
    (ws_CUcontext *pctx), (pctx), NOTHING, context_switched(&call, NULL))
DRIVER(cuCtxPopCurrent_v2, cuCtxPopCurrent, 4000, LIFETIME,
    (ws_CUcontext *pctx), (pctx), NOTHING, context_switched(&call, NULL))
DRIVER(cuCtxAttach, cuCtxAttach, 2000, LIFETIME,
    (ws_CUcontext *pctx, unsigned flags), (pctx, flags), NOTHING, context_made(&call, pctx))
DRIVER(cuCtxDetach, cuCtxDetach, 2000, LIFETIME,
    (ws_CUcontext ctx), (ctx), context_ending(&call, ctx), context_ended(&call, ctx))
DRIVER(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, LIFETIME,
    (ws_CUcontext *pctx, ws_CUdevice dev), (pctx, dev), NOTHING, primary_retained(&call, pctx, dev))
DRIVER(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, LIFETIME,
    (ws_CUdevice dev), (dev), primary_ending(&call, dev), primary_ended(&call, dev))
DRIVER(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, LIFETIME,
    (ws_CUdevice dev), (dev), primary_ending(&call, dev), primary_ended(&call, dev))
DRIVER(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, LIFETIME,
    (ws_CUdevice dev), (dev), primary_ending(&call, dev), primary_ended(&call, dev))
DRIVER(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, LIFETIME,
    (ws_CUdevice dev), (dev), primary_ending(&call, dev), primary_ended(&call, dev))
DRIVER(cuStreamCreate, cuStreamCreate, 2000, LIFETIME,
    (ws_CUstream *phStream, unsigned Flags), (phStream, Flags), NOTHING, stream_made(&call, phStream))
DRIVER(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, LIFETIME,
    (ws_CUstream *phStream, unsigned flags, int priority), (phStream, flags, priority), NOTHING,
    stream_made(&call, phStream))
DRIVER(cuStreamDestroy, cuStreamDestroy, 2000, LIFETIME,
    (ws_CUstream hStream), (hStream), stream_ending(&call, hStream), host_call(&call, NO_STREAM, hStream, 0, 0))
DRIVER(cuStreamDestroy_v2, cuStreamDestroy, 4000, LIFETIME,
    (ws_CUstream hStream), (hStream), stream_ending(&call, hStream), host_call(&call, NO_STREAM, hStream, 0, 0))
DRIVER(cuGreenCtxCreate, cuGreenCtxCreate, 12040, LIFETIME,
    (ws_CUgreenCtx *phCtx, ws_CUdevResourceDesc desc, ws_CUdevice dev, unsigned flags), (phCtx, desc, dev, flags),
    NOTHING, host_call(&call, NO_STREAM, OUT(phCtx), 0, 0))
DRIVER(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, LIFETIME,
    (ws_CUgreenCtx hCtx), (hCtx), green_ending(&call, hCtx), host_call(&call, NO_STREAM, hCtx, 0, 0))
DRIVER(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050, LIFETIME,
    (ws_CUstream *phStream, ws_CUgreenCtx greenCtx, unsigned flags, int priority),
    (phStream, greenCtx, flags, priority), NOTHING, stream_made(&call, phStream))
DRIVER(cuProfilerStart, cuProfilerStart, 4000, PROFILER,
    (void), (), NOTHING, profiler_range(&call, true))
DRIVER(cuProfilerStop, cuProfilerStop, 4000, PROFILER,
    (void), (), NOTHING, profiler_range(&call, false))
/* clang-format on */
