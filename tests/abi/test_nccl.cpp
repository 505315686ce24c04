/* Compares our declarations of NCCL's binary interface with nccl.h: values, the unique id, every row of the table. */
#include <nccl.h>

#include "src/abi/cuda.h"
#include "src/abi/nccl.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_NCCL_VALUES(VALUE)
    EXPECT(sizeof(ws_ncclUniqueId) == sizeof(ncclUniqueId), "ncclUniqueId has %zu bytes", sizeof(ncclUniqueId));
    EXPECT(sizeof(ws_ncclResult) == sizeof(ncclResult_t), "ncclResult_t has %zu bytes", sizeof(ncclResult_t));
    EXPECT(sizeof(ws_ncclEnum) == sizeof(ncclDataType_t), "ncclDataType_t has %zu bytes", sizeof(ncclDataType_t));
    EXPECT(sizeof(ws_ncclEnum) == sizeof(ncclRedOp_t), "ncclRedOp_t has %zu bytes", sizeof(ncclRedOp_t));
}

static void compare_functions()
{
#define DRIVER_TYPE(symbol, typedef_name, parameters)
#define CUBLAS_TYPE(symbol, parameters)
#define CUDNN_TYPE(symbol, parameters)
#define NCCL_TYPE(symbol, parameters) comparison<ws_ncclResult parameters, decltype(symbol)>::run(#symbol);
#include "driver_rows.h"
}

int main()
{
    std::printf("nccl.h %d.%d.%d\n", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
    compare_values();
    compare_functions();
    return summary("nccl.h");
}
