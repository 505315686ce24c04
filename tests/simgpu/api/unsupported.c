/* Defines every exported name as a weak function that returns NOT_SUPPORTED. The functions that the simulated driver
 * implements have strong definitions, which replace the weak ones. */
#include "engine/engine.h"

#include "driver_names.h"

ws_CUresult sim_not_supported(const char *name);

#define X(symbol, base, version, flavour)                                   \
    __attribute__((weak, visibility("default"))) ws_CUresult symbol(void);  \
    __attribute__((weak, visibility("default"))) ws_CUresult symbol(void)   \
    {                                                                       \
        int gate = sim_gate();                                              \
        return gate != WS_CUDA_SUCCESS ? gate : sim_not_supported(#symbol); \
    }
SIM_DRIVER_NAMES(X)
