#include "analysis/classify.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* What a name has to hold, in lower case: alternatives separated by '|', each a list of parts joined
 * by '&' that must all be there; '!' before a part: must not be there; '^': begins the name. */
struct rule {
    const char *pattern;
    enum ws_kernel_class class;
};

static const char comm_pattern[] = "nccl|rccl|deep_ep|ep::internode::|ep::intranode::|nvshmem|cross_device_reduce|"
                                   "all_reduce|allreduce|reducescatter|allgather|one_shot|two_shot|multimem";

/* The first that holds decides, so the special stand before the general. */
static const struct rule rules[] = {
    { comm_pattern, WS_CLASS_COMM },
    { "ep9internode|ep9intranode", WS_CLASS_COMM },

    /* Compilers name a kernel for what was fused into it and for its neighbours; only the prefix tells
     * the shape of the loop. */
    { "^triton_poi_|^triton_for_|nvfuser_pointwise", WS_CLASS_POINTWISE },
    { "^triton_tem_&conv|^triton_convolution", WS_CLASS_CONV },
    { "^triton_tem_&attention|^triton_flex_attention|^triton_tem_&flex", WS_CLASS_ATTENTION },
    { "^triton_tem_|^triton_mm|^triton_bmm", WS_CLASS_GEMM },
    { "^triton_per_&softmax|^triton_red_&softmax", WS_CLASS_SOFTMAX },
    { "^triton_per_&mean&pow|^triton_red_&mean&pow|nvfuser_inner_persistent|nvfuser_inner_outer_persistent|"
      "^triton_per_&norm|^triton_red_&norm|^triton_per_&rsqrt|^triton_red_&rsqrt",
      WS_CLASS_NORM },
    { "^triton_per_|^triton_red_|nvfuser_reduction|nvfuser_persistent|nvfuser_outer|nvfuser_inner",
      WS_CLASS_REDUCTION },
    { "nvfuser_transpose", WS_CLASS_COPY },
    { "^triton__0d", WS_CLASS_OTHER },

    /* XLA names a fusion for its root. */
    { "fusion&!allreduce&reduce", WS_CLASS_REDUCTION },
    { "loop_transpose|loop_convert|loop_copy|wrapped_transpose|wrapped_convert|wrapped_copy|input_transpose|"
      "loop_concatenate|loop_broadcast|loop_pad",
      WS_CLASS_COPY },
    { "gemm_fusion", WS_CLASS_GEMM },
    { "^loop_&fusion|^wrapped_|^input_&fusion|^fusion_|^fusion", WS_CLASS_POINTWISE },

    /* TensorRT-LLM names batched products for all that is fused into them. */
    { "^bmm_", WS_CLASS_GEMM },

    { "fmha|rotary_embedding&attention", WS_CLASS_ATTENTION },
    { "rotary|rope_", WS_CLASS_POINTWISE },

    { "^memcpy|^memset|^[cuda memcpy|^[cuda memset", WS_CLASS_COPY },
    { "multi_tensor|adamfunctor|fused_adam|fusedadam|fusedoptimizer|fused_sgd|fusedsgd|lambstage|lamb_stage|"
      "koptimizer|adamw|adam_kernel|adam_update|adam_step|sgd_update|sgd_step|adagrad_kernel&!embedding|sgd_kernel|"
      "distributedadam|l2norm_kernel",
      WS_CLASS_OPTIMIZER },

    /* Index arithmetic around tables: look-ups, caches of keys and values, bags. */
    { "reshape_and_cache|concat_and_cache|copy_blocks|embedding|_embs_|fbgemm|indexselect|index_select|"
      "index_elementwise|index_kernel|gpu_index|indexfunc|index_add|index_put|indexing_backward|gather_elementwise|"
      "scatter_gather|gathernd|scatter_add|take_kernel|bounds_check_indices|lookup&!logit|vectorized_gather|"
      "krn_partial|krn_partials|compute_grad_weight|sum_and_scatter|getrows|k_get_rows",
      WS_CLASS_EMBEDDING },

    { "flash_fwd|flash_bwd|flash_attn|flashattn|fmha|attention|sage_fwd|sage_attn|mha_fwd|mha_bwd|"
      "flashfwd|flashbwd|attn_fwd|attn_bwd|_attn_&!norm|^attn|splitkv|batchprefill|batchdecode|flash_&kernel&!cache|"
      "reduce_segments|mla_kernel|_mla_|flashmla|aotriton|bert_mha|sdpa",
      WS_CLASS_ATTENTION },

    { "curand|philox|distribution_|normal_and_transform|random_from_to|randperm|uniform_and_transform|bernoulli|"
      "multinomial|gen_sequenced|dropout_kernel&!norm|exponential_kernel|rocrand",
      WS_CLASS_RNG },
    { "topkgating|topk_gating|moe&topk|radixfindkth|gathertopk", WS_CLASS_SORT },
    { "softmax|soft_max|nll_loss|cross_entropy|crossentropy|logsumexp", WS_CLASS_SOFTMAX },

    /* TensorIterator's wrappers say nothing, the functor in them everything. */
    { "elementwise_kernel&fillfunctor|elementwise_kernel&copy_kernel|elementwise_kernel&copy_device|"
      "elementwise_kernel&loadwithcast&copy|elementwise_kernel&copyfunctor",
      WS_CLASS_COPY },
    { "elementwise_kernel", WS_CLASS_POINTWISE },
    { "reduce_kernel&reduceop|at::native::reduce_kernel|6native13reduce_kernel", WS_CLASS_REDUCTION },

    { "layernorm|layer_norm|rmsnorm|rms_norm|batchnorm|batch_norm|groupnorm|group_norm|instancenorm|instance_norm|"
      "cudnn::bn_|5cudnn&bn_fw|5cudnn&bn_bw|bn_fw_|bn_bw_|bnfwd|bnbwd|rowwisemoments|gammabeta|computefusedparams|"
      "welford|l2norm|ln_fwd|ln_bwd|_norm_kernel|norm_fwd|norm_bwd|cuda_norm|internalgradients",
      WS_CLASS_NORM },

    { "nchwtonhwc|nhwctonchw|nhwc2nchw|nchw2nhwc|batched_transpose|transpose&!conv&!gemm&!matmul|catarray|reformat|"
      "direct_copy|_copy_&tensor|copykernel|copy_kernel|cast_to_fp8|cast_and_transpose|castkernel|cast_kernel|"
      "float2half|half2float|convert_&!conv2d|converttensor|scalepackedtensor|subtensor|set_value|setzero|"
      "scaletensor|im2col|col2im|permute_kernel|pack_tensor|unpack_tensor|addpadding|slice_kernel|concat_kernel|"
      "^cpy_|shuffleintensor|_quant_kernel|quantize_&!gemm&!matmul|kernel_flip|^fill_|fillkernel|fill_kernel|zero_"
      "kernel|"
      "memcpy_kernel|copyvectorized|tensortransform|quantize_kernel",
      WS_CLASS_COPY },

    { "implicit_gemm|implicitgemm|implicit_convolve|convolve|convolution|conv2d|conv3d|conv1d|_conv_|4conv6|"
      "conv_depthwise|depthwise|grouped_conv|conv_fwd|conv_bwd|wgrad|dgrad|fprop|winograd|scudnn|igemm_fwd|igemm_bwd|"
      "igemm_wrw|cudnn_fp16|cudnn_fp32|cudnn_int8|miopenconv|miopensp3|cudnn::cnn|computeoffsetskernel|computewgrad|"
      "computebooffsets|fft2d|"
      "flip_filter|cask_cudnn|cudnn&engine&conv|conv2dwgrad|naive_conv|gridwise_conv|convfwd|convbwd|"
      "dnnl_conv|xdlops_conv|_conv2d|conv::",
      WS_CLASS_CONV },

    { "grouped_gemm|gemm|gemv|cijk_|nvjet|matmul|cublas|cutlass&tensorop|cutlass&simt|splitkreduce|splitk&reduce|"
      "^sm90_xmma|xmma_|wmma|_mm_kernel|dot_kernel|reduce_1block|hgmma|ampere_&_tn|ampere_&_nt|ampere_&_nn|"
      "deep_gemm|marlin|fused_moe_kernel|moe_gemm|mul_mat|gemmk1|trsm|syrk|ger_kernel|rocblas|tensile|hipblaslt|"
      "magma_|cublaslt|mul_mat|streamk",
      WS_CLASS_GEMM },

    { "radixsort|sort_kernel|sortkv|bitonic|gathertopk|topk|mergesort|merge_sort|devicescan|scan_kernel|"
      "searchsorted|unique_&indices|routingind|routing_|histogram|partition_config|deviceselect|"
      "devicepartition|devicehistogram|rocprim|argsort|sortpairs|cumsum|tensor_kernel_scan|moe_align|unique_kernel",
      WS_CLASS_SORT },

    { "cwisebinaryop|cwiseunaryop|cwisenullaryop&!reduc", WS_CLASS_POINTWISE },
    { "reduce|max_pool|maxpool|avg_pool|avgpool|average_pool|pooling|argmax|argmin|_sum_|sum_kernel|mean_kernel|bias_"
      "grad|grad_bias|"
      "devicereduce|vector_sum|amax_kernel",
      WS_CLASS_REDUCTION },

    { "pointwise|elementwise|element_wise|silu|gelu|relu|swiglu|sigmoid|add_kernel|mul_kernel|axpy|saxpy|addtensor|"
      "act_and_mul|activation|rotary|rope_|bias_add|add_bias|addbias|scal_kernel|fused_add|fused_mul|triad|"
      "vectoradd|vector_add|vecadd|bin_bcast|^cupy_add|^cupy_mul|^cupy_sub|^cupy_&divide|^cupy_power|^cupy_sqrt|^"
      "cupy_exp|"
      "nvfuser_none|add_scalar|mul_scalar|scale_kernel|optensor|op_tensor|tanh_|upsample|interpolate|unaryop|"
      "binaryop|kernelpointwise|"
      "where_kernel|add_residual|residual_add|_grad_kernel|clamp_|exp_kernel|add_one|dropout",
      WS_CLASS_POINTWISE },
};

enum { NAME_MOST = 4096 };

/* The part from `from` up to one of `stops`, its end in *end. */
static bool part_holds(const char *name, const char *part, size_t length)
{
    bool negated = length && *part == '!';
    part += negated;
    length -= negated;
    bool anchored = length && *part == '^';
    part += anchored;
    length -= anchored;
    bool found = anchored ? !strncmp(name, part, length) : memmem(name, strlen(name), part, length) != NULL;
    return found != negated;
}

static bool holds(const char *name, const char *pattern)
{
    while (*pattern) {
        bool all = true;
        for (bool more = true; more;) {
            size_t length = strcspn(pattern, "&|");
            all = all && part_holds(name, pattern, length);
            pattern += length;
            more = *pattern == '&';
            pattern += *pattern != 0;
        }
        if (all)
            return true;
    }
    return false;
}

/* Lower case, and cut: what decides stands in the first few hundred characters. */
static void lower(char *to, const char *name)
{
    size_t i = 0;
    for (; name[i] && i + 1 < NAME_MOST; i++)
        to[i] = (char)tolower((unsigned char)name[i]);
    to[i] = 0;
}

enum ws_kernel_class ws_classify(const char *name)
{
    char text[NAME_MOST];
    lower(text, name);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (holds(text, rules[i].pattern))
            return rules[i].class;
    return WS_CLASS_OTHER;
}

bool ws_is_comm(const char *name)
{
    char text[NAME_MOST];
    lower(text, name);
    return holds(text, comm_pattern);
}

const char *ws_kernel_class_name(uint32_t kernel_class)
{
    static const char *const names[] = { "other",     "gemm", "conv",    "attention", "pointwise",
                                         "reduction", "norm", "softmax", "embedding", "optimizer",
                                         "copy",      "comm", "sort",    "rng" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_CLASS_COUNT, "one name a class");
    return kernel_class < WS_CLASS_COUNT ? names[kernel_class] : "?";
}
