#include "shim/hook/driver_calls.h"

#include <stdbool.h>

#include "shim/hook/resolve.h"

struct driver_calls driver;

enum { NO_MODE = -1 };

void driver_ask_begin(struct driver_ask *ask)
{
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    quiet_begin(&ask->quiet);
    bool changed = driver.exchange_capture_mode && driver.exchange_capture_mode(&mode) == WS_CUDA_SUCCESS;
    ask->mode = changed ? mode : NO_MODE;
}

void driver_ask_end(const struct driver_ask *ask)
{
    ws_CUenum mode = ask->mode;
    if (mode != NO_MODE)
        driver.exchange_capture_mode(&mode);
    quiet_end(&ask->quiet);
}

void driver_calls_find(void)
{
#define CALL(name, symbol, parameters) driver.name = (ws_CUresult(*) parameters)resolve_driver_symbol(symbol);
    DRIVER_CALLS(CALL)
#undef CALL
}
