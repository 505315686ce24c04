#include "check.h"

#include "analysis/kernels/classify.h"

enum { SKIPPED = 77 };

static char names_path[4096];

static void names_of_every_class(void **state)
{
    static const struct {
        const char *name;
        enum ws_kernel_class class;
    } examples[] = {
        { "ampere_sgemm_128x64_nn", WS_CLASS_GEMM },
        { "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_execute_kernel_cudnn", WS_CLASS_CONV },
        { "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", WS_CLASS_ATTENTION },
        { "triton_poi_fused_addmm_fmha_gelu_3", WS_CLASS_POINTWISE },
        { "triton_red_fused_native_layer_norm_0", WS_CLASS_NORM },
        { "triton_per_fused_sum_1", WS_CLASS_REDUCTION },
        { "triton__0d1d2d", WS_CLASS_OTHER },
        { "void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
          "::{lambda()#1}>(int)",
          WS_CLASS_COPY },
        { "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
          WS_CLASS_POINTWISE },
        { "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4EEEEEvT1_",
          WS_CLASS_REDUCTION },
        { "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", WS_CLASS_COMM },
        { "void softmax_warp_forward<float, float, float, 8>(float*, float const*)", WS_CLASS_SOFTMAX },
        { "void cub::DeviceRadixSortOnesweepKernel<int>(int*)", WS_CLASS_SORT },
        { "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >(int)", WS_CLASS_OPTIMIZER },
        { "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(int)",
          WS_CLASS_RNG },
        { "void at::native::indexSelectLargeIndex<float, long>(int)", WS_CLASS_EMBEDDING },
        { "my_kernel", WS_CLASS_OTHER },
        { "", WS_CLASS_OTHER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
        assert_string_equal(ws_kernel_class_name(ws_classify(examples[i].name)),
                            ws_kernel_class_name(examples[i].class));
}

static void communication_is_known_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(ws_classify("NCCLKernel_AllReduce"), WS_CLASS_COMM);
    assert_int_equal(ws_classify("void deep_ep::internode::dispatch<1>(int)"), WS_CLASS_COMM);
    assert_int_equal(ws_classify("cross_device_reduce_1stage"), WS_CLASS_COMM);
    assert_int_not_equal(ws_classify("void at::native::reduce_kernel<512>(int)"), WS_CLASS_COMM);
}

static void long_names_are_no_trouble(void **state)
{
    size_t length = 1000000;
    char *name = malloc(length + 1);
    (void)state;
    memset(name, 'x', length);
    name[length] = 0;
    assert_int_equal(ws_classify(name), WS_CLASS_OTHER);
    free(name);
}

/* Each line of the file has a class, other columns and a kernel's name, separated by tabs. At least 95 % of the names
 * must get the right class. */
static void real_names_come_out_right(void **state)
{
    FILE *file = fopen(names_path, "r");
    char *line = NULL;
    size_t capacity = 0, count = 0, right = 0;
    (void)state;
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        char *name = strrchr(line, '\t');
        if (!name || *line == '#')
            continue;
        line[strcspn(line, "\t")] = 0;
        const char *class = ws_kernel_class_name(ws_classify(name + 1));
        count++;
        if (strcmp(line, class) != 0)
            print_message("%s, not %s: %s\n", line, class, name + 1);
        else
            right++;
    }
    fclose(file);
    free(line);
    print_message("%zu of %zu names right\n", right, count);
    assert_true(count > 100);
    assert_true(right * 100 >= count * 95);
}

/* With an argument, which names a file of kernel names, only the test against that file runs. The test is skipped if
 * the file does not exist. The argument "given" means a file in the folder shared/ beside the project, or in the
 * folder WALLSHIM_GIVEN. */
int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_every_class),
        cmocka_unit_test(communication_is_known_in_any_case),
        cmocka_unit_test(long_names_are_no_trouble),
    };
    const struct CMUnitTest reference[] = { cmocka_unit_test(real_names_come_out_right) };
    static const char beside[] = PROJECT_FOLDER "/../shared";
    const char *given = getenv("WALLSHIM_GIVEN");
    if (count < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    if (strcmp(words[1], "given") != 0)
        snprintf(names_path, sizeof(names_path), "%s", words[1]);
    else
        snprintf(names_path, sizeof(names_path), "%s/reference/kernel_names.tsv", given ? given : beside);
    if (access(names_path, R_OK)) {
        printf("skipped: %s is not there\n", names_path);
        return SKIPPED;
    }
    return cmocka_run_group_tests(reference, NULL, NULL);
}
