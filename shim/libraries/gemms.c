#include "shim/libraries/gemms.h"

#include <errno.h>
#include <stdio.h>

#include "shim/libraries/library_calls.h"

static const char *type_name(uint32_t type)
{
    switch (type) {
    case WS_CUDA_R_64F:
        return "double";
    case WS_CUDA_R_32F:
        return "float";
    case WS_CUDA_R_16F:
        return "c10::Half";
    case WS_CUDA_R_16BF:
        return "c10::BFloat16";
    case WS_CUDA_R_8F_E4M3:
        return "c10::Float8_e4m3fn";
    case WS_CUDA_R_8F_E5M2:
        return "c10::Float8_e5m2";
    case WS_CUDA_R_8I:
        return "signed_char";
    default:
        return "-";
    }
}

static const char *compute_name(uint32_t compute)
{
    switch (compute) {
    case WS_CUBLAS_COMPUTE_16F:
        return " compute_16f";
    case WS_CUBLAS_COMPUTE_32F:
        return " compute_32f";
    case WS_CUBLAS_COMPUTE_64F:
        return " compute_64f";
    case WS_CUBLAS_COMPUTE_32I:
        return " compute_32i";
    case WS_CUBLAS_COMPUTE_32F_FAST_16F:
        return " compute_32f_fast_16f";
    case WS_CUBLAS_COMPUTE_32F_FAST_16BF:
        return " compute_32f_fast_16bf";
    case WS_CUBLAS_COMPUTE_32F_FAST_TF32:
        return " compute_32f_fast_tf32";
    default:
        return "";
    }
}

/* The label of the GEMM's inputs, as FORMAT.md describes it. */
static uint32_t describe(const struct gemm *gemm)
{
    char text[256], batch[24] = "", epilogue[24] = "";
    unsigned long long m = gemm->m, n = gemm->n, k = gemm->k;
    if (gemm->batch != 1)
        snprintf(batch, sizeof(batch), "%llu,", (unsigned long long)gemm->batch);
    if (gemm->epilogue > WS_CUBLASLT_EPILOGUE_DEFAULT)
        snprintf(epilogue, sizeof(epilogue), " epilogue_%u", gemm->epilogue);
    snprintf(text, sizeof(text), "%s[%s%llu,%llu] %s[%s%llu,%llu]%s%s", type_name(gemm->a_type), batch, m, k,
             type_name(gemm->b_type), batch, k, n, compute_name(gemm->compute), epilogue);
    return library_label(text);
}

void gemm_fill(struct gemm_entry *entry, const struct gemm *gemm)
{
    int saved_errno = errno;
    *entry = (struct gemm_entry){ .gemm = *gemm,
                                  .label = { library_label(resolve_table[gemm->function].symbol), describe(gemm) } };
    errno = saved_errno;
}

const struct call_label *gemm_label(struct shim_thread *thread, const struct gemm *gemm)
{
    return gemm_find(thread, gemm);
}
