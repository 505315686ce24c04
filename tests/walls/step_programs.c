#include "step_programs.h"

#define ATTENTION "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, cutlass::bfloat16_t>>"
#define ATTENTION_BACKWARD \
    "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8>>"
#define NORM "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
#define NORM_BACKWARD "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16, float>"
#define ADD "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>"
#define GELU \
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>"
#define GELU_BACKWARD "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>"
#define DROPOUT \
    "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 4>"
#define CONV_INPUT "sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4"
#define CONV_WEIGHTS "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32"
#define BATCH_NORM "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float, 512, true, 1, true>"
#define BATCH_NORM_BACKWARD "void cudnn::bn_bw_1C11_kernel_new<__nv_bfloat16, float, float2, 512, true, 1>"
#define RELU \
    "void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar(at::TensorIteratorBase&)>"
#define RELU_BACKWARD \
    "void at::native::vectorized_elementwise_kernel<4, at::native::threshold_kernel_impl<c10::BFloat16>>"
#define SOFTMAX "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float>"
#define LOSS "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
#define EMBEDDING \
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>"
#define ADAM "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>"
#define CLIP "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<LpNormFunctor<float, float, 1, 1, 0>>"
#define SCALE \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<BinaryOpScalarFunctor<float, 1, 1, 0>>"
#define REDUCE \
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>>>"
#define FILL "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"
#define SAMPLE "void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<8, float, float, float>"
#define ROPE "triton_poi_fused_add_cat_mul_neg_3"
#define RMS_NORM "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1"
#define GEMV \
    "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>"
#define DECODE \
    "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>>"
#define GATHER "void fbgemm_gpu::split_embedding_codegen_forward_unweighted_kernel<float, float, 128>"
#define SCATTER "void fbgemm_gpu::split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1"
#define GROUP_NORM "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>"
#define SILU "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel(at::TensorIteratorBase&)>"

#define TRANSFORMER                                                                                                \
    .begin = { { EMBEDDING, 12 }, { DROPOUT, 9 } },                                                                \
    .forward = { { NORM, 8 }, { GEMM, 90 },  { ATTENTION, 60 }, { GEMM, 34 },  { DROPOUT, 9 }, { ADD, 7 },         \
                 { NORM, 8 }, { GEMM, 120 }, { GELU, 22 },      { GEMM, 118 }, { DROPOUT, 9 }, { ADD, 7 } },       \
    .end = { { NORM, 8 }, { GEMM, 210 }, { SOFTMAX, 48 }, { LOSS, 4 } },                                           \
    .backward = { { ADD, 7 },           { GEMM, 118 },         { GEMM_WEIGHTS, 122 },       { GELU_BACKWARD, 31 }, \
                  { GEMM, 119 },        { GEMM_WEIGHTS, 121 }, { NORM_BACKWARD, 16 },       { ADD, 7 },            \
                  { GEMM, 34 },         { GEMM_WEIGHTS, 36 },  { ATTENTION_BACKWARD, 150 }, { GEMM, 91 },          \
                  { GEMM_WEIGHTS, 95 }, { NORM_BACKWARD, 16 } },                                                   \
    .update = { { CLIP, 30 }, { SCALE, 22 }, { ADAM, 160 }, { ADAM, 158 }, { ADAM, 90 }, { FILL, 3 } }

const struct program programs[PROGRAMS] = {
    { .name = "transformer", TRANSFORMER, .layers = { 4, 24 }, .trains = true },
    { .name = "transformer, data-parallel", TRANSFORMER, .layers = { 4, 16 }, .trains = true, .communicates = true },
    { .name = "transformer, lengths differ",
      TRANSFORMER,
      .layers = { 4, 12 },
      .trains = true,
      .lengths_differ = true },
    { .name = "convolutions",
      .begin = { { CONV, 190 }, { BATCH_NORM, 60 }, { RELU, 40 } },
      .forward = { { CONV, 45 },
                   { BATCH_NORM, 20 },
                   { RELU, 14 },
                   { CONV, 80 },
                   { BATCH_NORM, 20 },
                   { RELU, 14 },
                   { CONV, 50 },
                   { BATCH_NORM, 26 },
                   { ADD, 18 },
                   { RELU, 14 } },
      .end = { { REDUCE, 7 }, { GEMM, 20 }, { SOFTMAX, 5 }, { LOSS, 3 } },
      .backward = { { RELU_BACKWARD, 20 },
                    { BATCH_NORM_BACKWARD, 36 },
                    { CONV_INPUT, 55 },
                    { CONV_WEIGHTS, 60 },
                    { RELU_BACKWARD, 20 },
                    { BATCH_NORM_BACKWARD, 30 },
                    { CONV_INPUT, 90 },
                    { CONV_WEIGHTS, 95 },
                    { RELU_BACKWARD, 20 },
                    { BATCH_NORM_BACKWARD, 30 },
                    { CONV_INPUT, 50 },
                    { CONV_WEIGHTS, 52 },
                    { ADD, 18 } },
      .update = { { SCALE, 12 }, { SCALE, 13 }, { SCALE, 9 }, { SCALE, 7 } },
      .layers = { 8, 33 },
      .trains = true },
    { .name = "recommender",
      .begin = { { GATHER, 310 }, { FILL, 5 } },
      .forward = { { GEMM_OF_LENGTH, 14 }, { RELU, 5 } },
      .end = { { GEMM_OF_LENGTH, 11 }, { SILU, 3 }, { LOSS, 3 } },
      .backward = { { RELU_BACKWARD, 5 }, { GEMM_OF_LENGTH, 15 }, { GEMM_WEIGHTS, 13 }, { REDUCE, 6 } },
      .update = { { SCATTER, 420 }, { ADAM, 22 } },
      .layers = { 2, 8 },
      .trains = true,
      .communicates = true },
    { .name = "decoding",
      .begin = { { EMBEDDING, 3 } },
      .forward = { { RMS_NORM, 3 },
                   { GEMV, 14 },
                   { ROPE, 3 },
                   { DECODE, 11 },
                   { GEMV, 6 },
                   { RMS_NORM, 3 },
                   { GEMV, 30 },
                   { SILU, 3 },
                   { GEMV, 16 } },
      .end = { { RMS_NORM, 3 }, { GEMV, 120 }, { SAMPLE, 12 }, { ARGMAX, 9 } },
      .layers = { 12, 40 } },
    { .name = "diffusion",
      .begin = { { FILL, 3 }, { GEMM_OF_LENGTH, 9 }, { SILU, 3 }, { CONV, 30 } },
      .forward = { { GROUP_NORM, 18 },
                   { SILU, 12 },
                   { CONV, 160 },
                   { GROUP_NORM, 18 },
                   { SILU, 12 },
                   { CONV, 158 },
                   { ADD, 11 },
                   { NORM, 9 },
                   { GEMM, 60 },
                   { ATTENTION, 130 },
                   { GEMM, 24 },
                   { ADD, 11 } },
      .end = { { GROUP_NORM, 18 }, { SILU, 12 }, { CONV, 40 }, { ADD, 4 }, { ADD, 4 } },
      .layers = { 6, 20 } },
};
