/* Compares our declarations of cuDNN's binary interface with its headers: values, sizes, every row of the table. */
#include <cudnn.h>

#include "src/abi/cuda.h"
#include "src/abi/cudnn.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_CUDNN_VALUES(VALUE)
    EXPECT(WS_CUDNN_DIM_MAX == CUDNN_DIM_MAX, "CUDNN_DIM_MAX is %d", CUDNN_DIM_MAX);
    EXPECT(sizeof(ws_cudnnStatus) == sizeof(cudnnStatus_t), "cudnnStatus_t has %zu bytes", sizeof(cudnnStatus_t));
    EXPECT(sizeof(ws_cudnnEnum) == sizeof(cudnnDataType_t), "cudnnDataType_t has %zu bytes", sizeof(cudnnDataType_t));
    EXPECT(sizeof(ws_cudnnEnum) == sizeof(cudnnBackendAttributeName_t), "cudnnBackendAttributeName_t has %zu bytes",
           sizeof(cudnnBackendAttributeName_t));
}

static void compare_functions()
{
#define DRIVER_TYPE(symbol, typedef_name, parameters)
#define NCCL_TYPE(symbol, parameters)
#define CUBLAS_TYPE(symbol, parameters)
#define CUDNN_TYPE(symbol, parameters) comparison<ws_cudnnStatus parameters, decltype(symbol)>::run(#symbol);
#include "driver_rows.h"
}

int main()
{
    std::printf("cudnn.h %d.%d.%d\n", CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL);
    compare_values();
    compare_functions();
    return summary("cudnn.h");
}
