#include "driver_calls.h"

#include <stdbool.h>

#include "resolve.h"

struct driver_calls driver;

enum { NO_MODE = -1 };

ws_CUenum driver_ask_begin(void)
{
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    bool changed = driver.exchange_capture_mode && driver.exchange_capture_mode(&mode) == WS_CUDA_SUCCESS;
    return changed ? mode : NO_MODE;
}

void driver_ask_end(ws_CUenum mode)
{
    if (mode != NO_MODE)
        driver.exchange_capture_mode(&mode);
}

void driver_calls_find(void)
{
#define CALL(name, symbol, parameters) driver.name = (ws_CUresult(*) parameters)resolve_driver_symbol(symbol);
    DRIVER_CALLS(CALL)
#undef CALL
}
