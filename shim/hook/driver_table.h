/* The wrapper table: one row for every wrapped driver function.
 *
 * Define DRIVER_ROW, then include this file, which undefines DRIVER_ROW at its end. The wrappers (calls/driver.c),
 * their numbers (enum ws_function_id in resolve.h), the look-up arrays (resolve.c) and the tests are all made from
 * this table, so no function is listed anywhere else.
 *
 *   DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after)
 *
 * symbol     the name that the driver exports
 * base       the name by which cuGetProcAddress finds the function
 * since      the driver version in which the function appeared, such as 11030 for CUDA 11.3
 * flavour    what a NULL stream means: the legacy default stream (LEGACY), or the thread's own (PTSZ or PTDS)
 * family     enum ws_call_family without its prefix
 * before     what to note before the real call
 * after      what to note when the real call has returned (calls/notes.h has both kinds of notes)
 *
 * In the files under table/, DRIVER makes a row for one function. DRIVER_PTSZ and DRIVER_PTDS make two rows: one for
 * the function, and one for its twin (suffix _ptsz or _ptds). Programs that were built with per-thread default
 * streams call the twin. The first twins appeared in CUDA 7.0.
 *
 * To add a function, add one row. tests/abi compares the row with the toolkit's cudaTypedefs.h. */
#ifndef DRIVER_ROW
#error "define DRIVER_ROW before including driver_table.h"
#endif

#define DRIVER_SINCE_TWIN(since) ((since) < 7000 ? 7000 : (since))

#define DRIVER(symbol, base, since, family, parameters, arguments, before, after) \
    DRIVER_ROW(symbol, base, since, LEGACY, family, parameters, arguments, before, after)
#define DRIVER_PTSZ(symbol, base, since, family, parameters, arguments, before, after)    \
    DRIVER_ROW(symbol, base, since, LEGACY, family, parameters, arguments, before, after) \
    DRIVER_ROW(symbol##_ptsz, base, DRIVER_SINCE_TWIN(since), PTSZ, family, parameters, arguments, before, after)
#define DRIVER_PTDS(symbol, base, since, family, parameters, arguments, before, after)    \
    DRIVER_ROW(symbol, base, since, LEGACY, family, parameters, arguments, before, after) \
    DRIVER_ROW(symbol##_ptds, base, DRIVER_SINCE_TWIN(since), PTDS, family, parameters, arguments, before, after)

#include "shim/hook/table/resolution.h"
#include "shim/hook/table/launch.h"
#include "shim/hook/table/copy.h"
#include "shim/hook/table/memory.h"
#include "shim/hook/table/order.h"
#include "shim/hook/table/graph.h"
#include "shim/hook/table/lifetime.h"

#undef DRIVER
#undef DRIVER_PTSZ
#undef DRIVER_PTDS
#undef DRIVER_SINCE_TWIN
#undef DRIVER_ROW
