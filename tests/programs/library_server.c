/* A program that uses NCCL, cuBLAS, cuBLASLt and cuDNN again and again, for wallshim attach. Everything that these
 * libraries need (communicators, handles, descriptors) is made before the attach. Runs until it is killed. */
#include "nccl_ranks.h"

#include <time.h>

#include "abi/cublas.h"
#include "abi/cudnn.h"

ws_cublasStatus cublasCreate_v2(ws_cublasHandle *handle);
ws_cublasStatus cublasSetStream_v2(ws_cublasHandle handle, ws_CUstream stream);
ws_cublasStatus cublasLtCreate(ws_cublasHandle *handle);
ws_cublasStatus cublasLtMatmulDescCreate(ws_cublasLtMatmulDesc **desc, ws_cublasEnum compute, ws_cublasEnum scale);
ws_cublasStatus cublasLtMatrixLayoutCreate(ws_cublasLtMatrixLayout **layout, ws_cublasEnum type, uint64_t rows,
                                           uint64_t cols, int64_t ld);
ws_cudnnStatus cudnnCreate(ws_cudnnHandle *handle);
ws_cudnnStatus cudnnSetStream(ws_cudnnHandle handle, ws_CUstream stream);
ws_cudnnStatus cudnnCreateTensorDescriptor(void **descriptor);
ws_cudnnStatus cudnnCreateFilterDescriptor(void **descriptor);
ws_cudnnStatus cudnnCreateConvolutionDescriptor(void **descriptor);
#define CUBLAS_ROW(library, symbol, parameters, ...) ws_cublasStatus symbol parameters;
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, parameters, ...) ws_cudnnStatus symbol parameters;
#include "shim/hook/cudnn_table.h"

enum { FLOATS = 1 << 16, DEVICES = 2 };

static const float one = 1, zero = 0;
static struct gpu gpus[DEVICES], gpu;    /* gpu: a copy of gpus[0] */
static ws_ncclComm alone, pair[DEVICES]; /* alone: a communicator of the first device; pair: one of both devices, an
                                            element for each device */
static ws_CUdeviceptr buffers[DEVICES];
static ws_cublasHandle blas, lt;
static ws_cublasLtMatmulDesc *desc;
static ws_cublasLtMatrixLayout *layouts[3];
static ws_cudnnHandle dnn;
static void *image, *filter, *result, *how;

static void prepare_products(void)
{
    cublasCreate_v2(&blas);
    cublasSetStream_v2(blas, gpu.stream);
    cublasLtCreate(&lt);
    cublasLtMatmulDescCreate(&desc, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&layouts[0], WS_CUDA_R_16BF, 512, 128, 512);
    cublasLtMatrixLayoutCreate(&layouts[1], WS_CUDA_R_16BF, 128, 256, 128);
    cublasLtMatrixLayoutCreate(&layouts[2], WS_CUDA_R_16BF, 512, 256, 512);
}

static void prepare_convolution(void)
{
    static const int strides[4] = { 1, 1, 1, 1 };
    cudnnCreate(&dnn);
    cudnnSetStream(dnn, gpu.stream);
    cudnnCreateTensorDescriptor(&image);
    cudnnCreateTensorDescriptor(&result);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateConvolutionDescriptor(&how);
    cudnnSetTensorNdDescriptor(image, WS_CUDNN_DATA_HALF, 4, (int[]){ 16, 64, 56, 56 }, strides);
    cudnnSetTensorNdDescriptor(result, WS_CUDNN_DATA_HALF, 4, (int[]){ 16, 128, 28, 28 }, strides);
    cudnnSetFilterNdDescriptor(filter, WS_CUDNN_DATA_HALF, WS_CUDNN_TENSOR_NCHW, 4, (int[]){ 128, 64, 3, 3 });
}

static void all_reduce(int device, ws_ncclComm comm, size_t count)
{
    works(ncclAllReduce((void *)buffers[device], (void *)buffers[device], count, WS_ncclFloat32, WS_ncclSum, comm,
                        gpus[device].stream));
}

static void work_once(void)
{
    MUST(cuCtxSetCurrent(gpu.context));
    cublasGemmEx(blas, WS_CUBLAS_OP_T, WS_CUBLAS_OP_N, 1024, 512, 256, &one, NULL, WS_CUDA_R_16BF, 256, NULL,
                 WS_CUDA_R_16BF, 256, &zero, NULL, WS_CUDA_R_16BF, 1024, WS_CUBLAS_COMPUTE_32F, -1);
    cublasLtMatmul(lt, desc, &one, NULL, layouts[0], NULL, layouts[1], &zero, NULL, layouts[2], NULL, layouts[2],
                   NULL, NULL, 0, gpu.stream);
    cudnnConvolutionForward(dnn, NULL, image, NULL, filter, NULL, how, 1, NULL, 0, NULL, result, NULL);
    all_reduce(0, alone, FLOATS);
    works(ncclGroupStart());
    for (int i = 0; i < DEVICES; i++)
        all_reduce(i, pair[i], FLOATS / 2);
    works(ncclGroupEnd());
    for (int i = 0; i < DEVICES; i++)
        MUST(cuStreamSynchronize(gpus[i].stream));
}

int main(void)
{
    setenv("SIMGPU_DEVICES", "2", 1);
    for (int i = 0; i < DEVICES; i++) {
        gpu_open(&gpus[i], i);
        MUST(cuMemAlloc_v2(&buffers[i], FLOATS * sizeof(float)));
    }
    gpu = gpus[0];
    MUST(cuCtxSetCurrent(gpu.context));
    works(ncclCommInitAll(&alone, 1, NULL));
    works(ncclCommInitAll(pair, DEVICES, NULL));
    prepare_products();
    prepare_convolution();
    work_once();
    dprintf(STDOUT_FILENO, "ready\n");
    for (;;) {
        work_once();
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}
