#include "driver_calls.h"

#include "resolve.h"

struct driver_calls driver;

void driver_calls_find(void)
{
#define CALL(name, symbol, parameters) driver.name = (ws_CUresult(*) parameters)resolve_driver_symbol(symbol);
    DRIVER_CALLS(CALL)
#undef CALL
}
