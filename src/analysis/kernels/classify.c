#include "analysis/kernels/classify.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* A pattern for names in lower case. '|' separates alternatives. '&' separates the parts of an alternative; all parts
 * must match. A part matches if the name contains the part's text. With '!' before its text, a part matches if the
 * name does not contain the text; with '^', if the name begins with the text. */
struct rule {
    const char *pattern;
    enum ws_kernel_class class;
};

static const char comm_pattern[] = "nccl|rccl|deep_ep|ep::internode::|ep::intranode::|nvshmem|cross_device_reduce|"
                                   "all_reduce|allreduce|reducescatter|allgather|one_shot|two_shot|multimem";

/* The first rule that matches decides, so specific rules come before general ones. */
static const struct rule rules[] = {
    { comm_pattern, WS_CLASS_COMM },
    { "ep9internode|ep9intranode|msccl|userbuffers|alltoall|all_to_all|moea2a|_a2a_|epdispatch|epcombine",
      WS_CLASS_COMM },

    /* Compilers such as PyTorch's Inductor name a kernel after the operators fused into it, and after neighbouring
     * operators. Only the prefix of the name tells whether the kernel is pointwise, a reduction or a template. */
    { "^triton_poi_|^triton_for_|^triton_unk_|^triton_fused_|nvfuser_pointwise", WS_CLASS_POINTWISE },
    { "^triton_tem_&conv|^triton_convolution", WS_CLASS_CONV },
    { "^triton_tem_&attention|^triton_flex_attention|^triton_tem_&flex", WS_CLASS_ATTENTION },
    { "^triton_tem_|^triton_mm|^triton_bmm|^triton_gemm", WS_CLASS_GEMM },
    { "^triton_split_scan|^triton_spl_|^triton_per_&_sort|^triton_red_&_sort", WS_CLASS_SORT },
    { "^triton_per_&softmax|^triton_red_&softmax|^triton_per_&nll_loss|^triton_red_&nll_loss|^triton_per_&logsumexp|"
      "^triton_red_&logsumexp",
      WS_CLASS_SOFTMAX },
    { "^triton_per_&mean&pow|^triton_red_&mean&pow|nvfuser_inner_persistent|nvfuser_inner_outer_persistent|"
      "^triton_per_&norm|^triton_red_&norm|^triton_per_&rsqrt|^triton_red_&rsqrt|^triton_per_&var_mean|"
      "^triton_red_&var_mean",
      WS_CLASS_NORM },
    { "^triton_per_|^triton_red_|nvfuser_reduction|nvfuser_persistent|nvfuser_outer|nvfuser_inner",
      WS_CLASS_REDUCTION },
    { "nvfuser_transpose", WS_CLASS_COPY },
    { "^triton__0d", WS_CLASS_OTHER },

    /* XLA names a fusion after its root operation and the arithmetic before the root. TensorRT's Myelin names a
     * kernel after all operations in it. */
    { "fusion&rng|^wrapped_rng", WS_CLASS_RNG },
    { "fusion&!allreduce&reduce|^wrapped_reduce", WS_CLASS_REDUCTION },
    { "fusion&gather|fusion&scatter|^wrapped_gather|^wrapped_scatter", WS_CLASS_EMBEDDING },
    { "^loop_&fusion&multiply|^loop_&fusion&subtract|^loop_&fusion&divide|^loop_add_&fusion", WS_CLASS_POINTWISE },
    { "loop_transpose|loop_convert|loop_copy|loop_concatenate|loop_broadcast|loop_pad|loop_slice|loop_reverse|"
      "dynamic_slice|dynamic_update_slice|input_transpose|input_concatenate|input_slice|wrapped_transpose|"
      "wrapped_convert|wrapped_copy|wrapped_concatenate|wrapped_slice|wrapped_broadcast|wrapped_pad|transpose_fusion",
      WS_CLASS_COPY },
    { "gemm_fusion", WS_CLASS_GEMM },
    { "^loop_&fusion|^wrapped_|^input_&fusion|^fusion_|^fusion", WS_CLASS_POINTWISE },
    { "^__myl_fc|^__myl_&gemm", WS_CLASS_GEMM },
    { "^__myl_&mean&sqrt|^__myl_&mean&rsqr", WS_CLASS_NORM },
    { "^__myl_&max&exp&sum", WS_CLASS_SOFTMAX },
    { "^__myl_&!resh&sum|^__myl_&mean", WS_CLASS_REDUCTION },
    { "^__myl_&mul|^__myl_&add|^__myl_&sub|^__myl_&div|^__myl_&silu|^__myl_&gelu|^__myl_&tanh", WS_CLASS_POINTWISE },
    { "^__myl_&_mov|^__myl_tran|^__myl_cast|^__myl_conc|^__myl_slic|^__myl_resh|^__myl_repl", WS_CLASS_COPY },

    /* The name of a CuPy kernel is "cupy_" followed by the function's name. */
    { "^cupy_copy|^cupy_fill|^cupy_concatenate", WS_CLASS_COPY },
    { "^cupy_scan|^cupy_bsum|^cupy_&sort", WS_CLASS_SORT },
    { "^cupy_any|^cupy_all|^cupy_count|^cupy_var|^cupy_std|^cupy_sum|^cupy_amax|^cupy_amin|^cupy_arg|^cupy_mean|"
      "^cupy_prod|^cupy_nansum|^cupy_max|^cupy_min",
      WS_CLASS_REDUCTION },
    { "^cupy_take|^cupy_getitem|^cupy_scatter", WS_CLASS_EMBEDDING },
    { "^cupy_", WS_CLASS_POINTWISE },

    { "fmha|rotary_embedding&attention", WS_CLASS_ATTENTION },
    { "qknorm|qk_norm|normrope|norm_rope&!cache", WS_CLASS_NORM },
    { "rotary|rope_&!append&!and_cache|biasrope", WS_CLASS_POINTWISE },

    { "^memcpy|^memset|^[cuda memcpy|^[cuda memset|^copyhostto|^copydeviceto|rocclr_copybuffer|rocclr_fillbuffer|"
      "copyop<|tensorfillop<|__fill",
      WS_CLASS_COPY },
    /* Kernels that move rows for a GEMM or for attention. Their names also contain words for GEMMs or attention, so
     * this rule comes before the rules for GEMMs and attention. */
    { "remove_padding|add_padding|inputrows", WS_CLASS_COPY },
    { "multi_tensor|adamfunctor|fused_adam|fusedadam|fusedoptimizer|fused_sgd|fusedsgd|lambstage|lamb_stage|"
      "koptimizer|kpreconditionoptimizer|adamw|adam_kernel|adamkernel|adam_update|adam_step|applyadam|"
      "applygradientdescent|applymomentum|applykeras|applyrmsprop|applyadagrad|momentum|sgd_update|sgd_step|"
      "adagrad_kernel&!embedding|sgd_kernel|distributedadam|l2norm_kernel|ada_grad|lars_|lion_kernel",
      WS_CLASS_OPTIMIZER },

    { "moe_rout|moe_sort|moesort|moe&_sort_kernel|kthvalue|gathermedian|topk_index|topk_softmax|topksoftmax|"
      "topkgating|topk_gating|moe&topk|radixfindkth|gathertopk|topkperrow|top_k_per_row",
      WS_CLASS_SORT },

    /* Kernels that index tables: look-ups, attention's caches of keys and values, embedding bags. */
    { "reshape_and_cache|concat_and_cache|and_cache_kernel|_quant_cache|copy_blocks|append&kv_cache|appendpagedkv|"
      "append_paged|gather&cache|fp8_append|kv_buffer|kv_indices|req_to_token|set_rows|embedding|_embs_|fbgemm|"
      "indexselect|index_select|index_elementwise|index_kernel|gpu_index|indexfunc|index_add|index_put|index_fill|"
      "indexing_backward|gather_elementwise|scatter_gather|gathernd|scatternd|gatherop|scatterop|_gatherkernel|"
      "scatter_add|ep_gather|ep_scatter|take_kernel|bounds_check_indices|lookup&!logit|vectorized_gather|krn_partial|"
      "krn_partials|multi_to_one|one_to_multi|compute_grad_weight|sum_and_scatter|getrows|k_get_rows",
      WS_CLASS_EMBEDDING },

    { "flash_fwd|flash_bwd|flash_attn|flashattn|fmha|attention|sage_fwd|sage_attn|mha_fwd|mha_bwd|_mha|mmha|flashfwd|"
      "flashbwd|attn_fwd|attn_bwd|_attn_&!norm&!softmax&!metadata|^attn&!softmax|_atten_|splitkv|batchprefill|"
      "batchdecode|batch_prefill|batch_decode|prefillwith|decodewith|paged_decode|paged_prefill|mergestate|"
      "merge_state|merge_attn|flash_&kernel&!cache&!prepare|flash_&decode|flash_&prefill|gdr_decode|gdr_prefill|"
      "reduce_segments|mla_&!cache&!concat&!metadata|flashmla|aotriton|bert_mha|sdpa|_sdp_|xqa_|_gqa|gqa_|"
      "^_fwd_kernel|^_fwd_grouped_kernel|^_bwd_kernel|^_bwd_preprocess|^bwd_kernel_d|^bwd_preprocess|delta_rule|"
      "fused_recurrent|chunk_kda|chunk_gla|deltarule|attn_res|mqa_logits|prefill_kernel|decode_paged|gdn_decode|"
      "chunk_fwd_&!bmm|chunk_bwd_&!bmm|recompute_w_u|_kkt_",
      WS_CLASS_ATTENTION },

    { "curand|philox|distribution_|normal_and_transform|random_from_to|randperm|uniform_and_transform|bernoulli|"
      "multinomial|uniform_kernel|gen_sequenced|generate_seed|randomgenerator|mt19937|dropout_kernel&!norm|"
      "exponential_kernel|rocrand|xorwow|gumbel|standard_normal",
      WS_CLASS_RNG },

    /* Kernels of PyTorch's TensorIterator and of Eigen. The names of these kernels do not tell what the kernels
     * compute, but the names of their functors do. */
    { "elementwise_kernel&fillfunctor|elementwise_kernel&copy_kernel|elementwise_kernel&copy_device|"
      "elementwise_kernel&loadwithcast&copy|elementwise_kernel&copyfunctor",
      WS_CLASS_COPY },
    { "elementwise_kernel|masked_fill|maskedfill", WS_CLASS_POINTWISE },
    /* The functor of a pointwise kernel of TensorIterator may contain the name of a loss. So this rule comes after
     * the rules for TensorIterator. */
    { "softmax|soft_max|nll_loss|classnll|cross_entropy|crossentropy|logsumexp|normalizedprob|_ce_fwd|_ce_bwd",
      WS_CLASS_SOFTMAX },
    { "reduce_kernel&reduceop|at::native::reduce_kernel|6native13reduce_kernel", WS_CLASS_REDUCTION },
    { "eigen&scankernel|eigen&tensorscanop", WS_CLASS_SORT },
    { "eigen&reductionop|eigen&reducerop|eigen&reductionkernel", WS_CLASS_REDUCTION },
    { "eigenmetakernel&cwise", WS_CLASS_POINTWISE },
    { "eigenmetakernel&conversionop|eigenmetakernel&shufflingop|eigenmetakernel&slicingop|eigenmetakernel&paddingop|"
      "eigenmetakernel&broadcastingop|eigenmetakernel&reverseop|eigenmetakernel&concatenationop",
      WS_CLASS_COPY },
    { "eigenmetakernel", WS_CLASS_POINTWISE },

    { "layernorm|layer_norm|rmsnorm|rms_norm|fused_rms|batchnorm|batch_norm|groupnorm|group_norm|instancenorm|"
      "instance_norm|cudnn::bn_|5cudnn&bn_fw|5cudnn&bn_bw|bn_fw_|bn_bw_|bnfwd|bnbwd|kebn|localstats|rowwisemoments|"
      "gammabeta|fusedparams|welford|l2norm|ln_fwd|ln_bwd|fused_ln|residual_ln|_norm_kernel|normkernel|norm_fwd|"
      "norm_bwd|norm_f32|cuda_norm|internalgradients|skipln|_ln_|computegradinput",
      WS_CLASS_NORM },

    { "swiglu&!matmul&!gemm&!bmm_|act_and_mul|silu_and_mul|^_silu_mul|silu_mul&!gemm&!mfma|subtensoropwithcast|"
      "subtensoropwithscalar|^op&tensor",
      WS_CLASS_POINTWISE },
    { "rocprim::&!transform_kernel", WS_CLASS_SORT },

    /* These two rules come before the rule for copies, because words of the rule for copies occur in other names:
     * names of convolutions may mention a layout conversion, and names of GEMMs may mention the unpacking of
     * operands. */
    { "884cudnn|688cudnn|816cudnn|asmconv", WS_CLASS_CONV },
    { "mul_mat|mfma_", WS_CLASS_GEMM },

    { "nchwtonhwc|nhwctonchw|nhwc2nchw|nchw2nhwc|batched_transpose|transpose&!conv&!gemm&!matmul|swapdim|catarray|"
      "reformat|direct_copy|_copy_&tensor|copykernel|copy_kernel|copy_out|cast_to_fp8|cast_and_transpose|"
      "castkernel&!raycast&!broadcast|cast_kernel&!broadcast|float2half|half2float|convert_&!conv2d|converttensor|"
      "scalepackedtensor|subtensor|set_value|setzero|scaletensor|2col|col2im|col2vol|permute_kernel|pack_tensor|"
      "unpack_tensor|addpadding|padinput|padded_kernel|_pad1d|_pad2d|_pad3d|slice_kernel|concat_&!norm|concat_kernel|"
      "reshape_cat|cpy_|shuffleintensor|repack|kernel_flip|^fill_|fillkernel|fill_kernel|uninitialized_fill|"
      "uninitialized_copy|chunk_cat|deep_gemm::transpose|deep_gemm::pack|zero_kernel|memcpy_kernel|copyvectorized|"
      "copypacked|tensortransform",
      WS_CLASS_COPY },
    { "kdequant|quant&!norm&!gemm&!gemv&!matmul&!moe_kernel&!_mm_&!act_and_mul&!and_mul&!silu&!gelu&!swiglu",
      WS_CLASS_COPY },

    /* TensorRT also has pooling kernels with xmma in their names. Later rules match all other xmma kernels. */
    { "xmma_pooling", WS_CLASS_REDUCTION },
    { "implicit_gemm|implicitgemm|implicit_convolve|convolve|convolution|conv2d|conv3d|conv1d|_conv_|4conv6|"
      "conv_depthwise|depthwise|grouped_conv|conv_fwd|conv_bwd|conv_forward|conv_backward|wgrad|dgrad|fprop|winograd|"
      "scudnn|igemm_fwd|igemm_bwd|igemm_wrw|cudnn_fp16|cudnn_fp32|cudnn_int8|miopen&conv|miopensp3|cudnn::cnn|"
      "computeoffsetskernel|computewgrad|computebooffsets|fft2d|flip_filter|cask_cudnn|cudnn&engine&conv|conv2dwgrad|"
      "naive_conv|gridwise_conv|convfwd|convbwd|dnnl_conv|xdlops_conv|_conv2d|conv_transpose|conv::",
      WS_CLASS_CONV },

    /* Kernels of cuBLAS and similar libraries that are not GEMMs. */
    { "axpy|scal_kernel|scalkernel|swap_kernel", WS_CLASS_POINTWISE },
    { "asum|nrm2|amax_kernel|iamax", WS_CLASS_REDUCTION },

    { "grouped_gemm|gemm|gemv|cijk_|nvjet|matmul|cublas|cutlass&tensorop|cutlass&simt|splitkreduce|splitk&reduce|"
      "^sm90_xmma|xmma_|wmma|_mm_kernel|^bmm_|dot_kernel|reduce_1block|hgmma|ampere_&_tn|ampere_&_nt|ampere_&_nn|"
      "deep_gemm|cutlass3x_sm|^mm_kernel|_mma_|marlin|fused_moe_kernel|moe_stage&!reduce|moe&::stage&!reduce|fmoe_|"
      "moe_kernel|moe_gemm|flatmm|gemmk1|trsm|syrk|ger_kernel|rocblas|tensile|hipblaslt|magma_|cublaslt|_bmm_|addmm|"
      "matrixmul|matrix_mul|spmm|csrmm|streamk|splitk|split_k|sgmv|bgmv|lora_shrink|lora_expand|weight_only",
      WS_CLASS_GEMM },

    { "radixsort|_sort|sort_|sortkv|sortkernel|sortingkernel|sortagent|bitonic|gathertopk|topk|mergesort|devicescan|"
      "scan_kernel|scankernel|scan_by_key|searchsorted|unique_&indices|routingind|routing|histogram|partition_config|"
      "deviceselect|devicecompact|devicepartition|devicehistogram|rocprim|argsort|sortpairs|cumsum|cumprod|"
      "tensor_kernel_scan|moe_align|fused_gate|unique_kernel|onesweep|prefixsum|prefix_sum|scanagent",
      WS_CLASS_SORT },

    { "cwisebinaryop|cwiseunaryop|cwisenullaryop&!reduc", WS_CLASS_POINTWISE },
    { "reduce|max_pool|maxpool|avg_pool|avgpool|average_pool|pooling|adaptive_average|adaptiveaverage|adaptivemax|"
      "segment_csr|mean_dim|max_kernel|min_kernel|segment_sum|argmax|argmin|_sum_|sum_kernel|sum_rows|mean_kernel|"
      "bias_grad|grad_bias|devicereduce|vector_sum",
      WS_CLASS_REDUCTION },

    { "pointwise|elementwise|element_wise|silu|gelu|relu|swiglu|geglu|sigmoid|add_kernel|mul_kernel|addtensor|"
      "add_tensor|act_and_mul|activation|activefwd|activebwd|rotary|rope|bias_add|add_bias|addbias|biasnhwc|biasnchw|"
      "bias_residual|fused_add|fused_mul|triad|vectoradd|vector_add|vecadd|bin_bcast|nvfuser_none|add_scalar|"
      "mul_scalar|scale_kernel|scale_shift|optensor|op_tensor|op2dtensor|generic_tensor|tanh_|triu_tril|roll_cuda|"
      "upsample|interpolate|nearest_neighbor|grid_sampl|glu_kernel|unaryop|binaryop|unary_|binary_&!search|"
      "miopenneuron|broadcastkernel|broadcast_kernel|kernelpointwise|where_kernel|add_residual|residual_add|"
      "_grad_kernel|clamp_|exp_kernel|add_one|dropout|cell_forward|cell_backward|lstmfwd|lstmbwd|scale_f32|add_f32|"
      "mul_f32|elu_f|softcap|gdn_gating|bias_rescale",
      WS_CLASS_POINTWISE },

    /* General words, for names that no rule above matches. */
    { "rms_|_norm&!_normal|norm_", WS_CLASS_NORM },
    { "_index_jit|gather|scatter|_cache|kvcache|cachekernel|partial_segment|recat_", WS_CLASS_EMBEDDING },
    { "sort|uniquebykey|unique_by_key|segment_reduce_by", WS_CLASS_SORT },
    { "absmax|amax|pool2d|pool3d|biasgrad|sum_|_sum", WS_CLASS_REDUCTION },
    { "copy|fill_&!prefill|gptq|exllama|concat|slicekernel|slicelayer|split_v|splitkernel|padkernel|pad_f|"
      "repeatbuffer|cvt_|permute|transpose|tilekernel|memset|_fill<|full_func|^zeros_|^ones_|_pad_|_repeat_|^_zero_|"
      "^zero_|zerofill|zero_fill",
      WS_CLASS_COPY },
    { "_kernel_rank_|vector_fma|_fma3|transform_f|transform_kernel|resize|upscale|penalt|diag_mask|multiply|bias|"
      "^add_|^sub_|^mul_|^div_",
      WS_CLASS_POINTWISE },
};

enum { NAME_MOST = 4096, PARTS_MOST = 1024, PAIRS = 3 };

/* A part of a rule's pattern, in a form that is fast to look for in names. */
struct part {
    const char *text;
    size_t length;
    uint16_t pairs[PAIRS]; /* pair_of() of the part's first two characters, its middle two and its last two */
    bool negated, anchored;
    bool last; /* the part is the last of its alternative (alternatives are separated by '|') */
    enum ws_kernel_class class;
};

static struct part parts[PARTS_MOST];
static size_t part_count;
static pthread_once_t compiled = PTHREAD_ONCE_INIT;

/* A name in lower case, and the set of its pairs of adjacent characters. A part of a pattern cannot occur in the name
 * if one of the part's pairs is not in the set. So most parts are ruled out without a search of the name. */
struct subject {
    size_t length;
    uint64_t pairs[64]; /* bit i: the name has a pair of adjacent characters with pair_of() = i */
    char text[NAME_MOST];
};

static uint16_t pair_of(const char *text)
{
    return ((unsigned char)text[0] * 67u + (unsigned char)text[1]) & 4095;
}

static const char *compile_part(const char *pattern, enum ws_kernel_class class)
{
    struct part part = { .class = class };
    part.negated = *pattern == '!';
    pattern += part.negated;
    part.anchored = *pattern == '^';
    pattern += part.anchored;
    part.text = pattern;
    part.length = strcspn(pattern, "&|");
    part.last = pattern[part.length] != '&';
    for (size_t i = 0; i < PAIRS; i++)
        part.pairs[i] = pair_of(pattern + (part.length - 2) * i / (PAIRS - 1));
    assert(part.length >= 2 && part_count < PARTS_MOST);
    parts[part_count++] = part;
    return pattern + part.length;
}

static void compile(void)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const char *pattern = compile_part(rules[i].pattern, rules[i].class);
        while (*pattern)
            pattern = compile_part(pattern + 1, rules[i].class);
    }
}

static bool part_holds(const struct subject *name, const struct part *part)
{
    bool found = true;
    for (size_t i = 0; i < PAIRS && found; i++)
        found = name->pairs[part->pairs[i] / 64] >> part->pairs[i] % 64 & 1;
    if (found && part->anchored)
        found = !strncmp(name->text, part->text, part->length);
    else if (found)
        found = memmem(name->text, name->length, part->text, part->length) != NULL;
    return found != part->negated;
}

/* Compares the name with the first `count` entries of `parts`, the parts of all rules' patterns. Returns the class of
 * the first alternative that matches. */
static enum ws_kernel_class first_that_holds(const struct subject *name, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        all = all && part_holds(name, &parts[i]);
        if (all && parts[i].last)
            return parts[i].class;
        all = all || parts[i].last;
    }
    return WS_CLASS_OTHER;
}

/* Converts the name to lower case and drops the return type `void`. Cuts off the end of a long name, because the
 * start of a name decides the class. */
static void classify_prepare(struct subject *subject, const char *name)
{
    size_t i = 0;
    memset(subject->pairs, 0, sizeof(subject->pairs));
    if (!strncmp(name, "void ", 5))
        name += 5;
    for (; name[i] && i + 1 < NAME_MOST; i++) {
        subject->text[i] = (char)tolower((unsigned char)name[i]);
        unsigned pair = i ? pair_of(&subject->text[i - 1]) : 0;
        subject->pairs[pair / 64] |= (uint64_t)1 << pair % 64;
    }
    subject->text[i] = 0;
    subject->length = i;
    pthread_once(&compiled, compile);
}

enum ws_kernel_class ws_classify(const char *name)
{
    struct subject subject;
    classify_prepare(&subject, name);
    return first_that_holds(&subject, part_count);
}

uint8_t ws_class_of_name(const struct ws_op_name *name)
{
    if (name->kind == WS_OP_KERNEL)
        return (uint8_t)ws_classify(name->text);
    return name->activity == WS_ACTIVITY_MEMORY ? WS_CLASS_COPY : WS_CLASS_OTHER;
}

bool ws_name_moves_much(const char *name, enum ws_kernel_class kernel_class)
{
    static const char *const decoding[] = { "decode",           "decoding", "paged_attention", "mmha",
                                            "masked_multihead", "splitkv",  "split_kv" };
    if (kernel_class == WS_CLASS_CONV)
        return strcasestr(name, "depthwise") != NULL;
    for (size_t i = 0; i < sizeof(decoding) / sizeof(decoding[0]) && kernel_class == WS_CLASS_ATTENTION; i++)
        if (strcasestr(name, decoding[i]))
            return true;
    return false;
}

const char *ws_kernel_class_name(uint32_t kernel_class)
{
    static const char *const names[] = { "other",     "gemm", "conv",    "attention", "pointwise",
                                         "reduction", "norm", "softmax", "embedding", "optimizer",
                                         "copy",      "comm", "sort",    "rng" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_CLASS_COUNT, "one name a class");
    return kernel_class < WS_CLASS_COUNT ? names[kernel_class] : "?";
}
