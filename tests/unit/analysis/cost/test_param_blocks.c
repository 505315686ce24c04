/* Tests what the parameter blocks (launch arguments) of PyTorch's kernels tell about the number of bytes that a
 * launch reads and writes in device memory. If fields of a block contradict each other, this number stays unknown. */
#include "blocks.h"

#include "tests/walls/pytorch.h"

#define NATIVE "at::native::"
#define SUM_OF(type)                                                                                               \
    "void " NATIVE "reduce_kernel<512, 1, " NATIVE "ReduceOp<" type ", " NATIVE "func_wrapper_t<" type ", " NATIVE \
    "sum_functor<" type ", float, " type ">::operator()(at::TensorIterator&)::{lambda(float, "                     \
    "float)#1}>, unsigned int, " type ", 4, 4> >(X)"
#define STRIDED(impl, functor)                                                                          \
    "void " NATIVE "elementwise_kernel<128, 4, " NATIVE impl "<" NATIVE functor " >(at::TensorIterator" \
    "Base&, " NATIVE functor " const&)::{lambda(int)#1}>(int, X)"
#define CAST(functor, arrays, inputs)                                                                            \
    "void " NATIVE "unrolled_elementwise_kernel<" NATIVE functor ", std::array<char*, " arrays "ul>, 4, Trivial" \
    "OffsetCalculator<" inputs ", unsigned int>, TrivialOffsetCalculator<1, unsigned int>, " NATIVE              \
    "memory::LoadWithCast<" inputs ">, " NATIVE "memory::StoreWithCast<1> >(int, X)"

static const char bf16_add[] = STRIDED("gpu_kernel_impl_nocast", "CUDAFunctor_add<c10::BFloat16>");

/* Fills a block as PyTorch's reduction does. PyTorch's versions differ in `head` (size of the operation at the
 * block's beginning) and in `numbers` (how many numbers the configuration has). */
static void reduction(struct block *block, const struct reduce_op *op, uint32_t head, uint32_t numbers, bool base)
{
    static char bytes[1200];
    uint32_t size = head;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes + size, &op->config, 4 * numbers);
    size += 4 * numbers;
    memcpy(bytes + size, &op->input, sizeof(op->input));
    size += sizeof(op->input);
    memcpy(bytes + size, &op->output, sizeof(op->output));
    size = (size + (uint32_t)sizeof(op->output) + 7) / 8 * 8;
    memcpy(bytes + size, &op->src, 48);
    size += base ? 48 + 8 : 48;
    memcpy(bytes + size, &op->accumulate, 8);
    block_begin(block, (uint32_t)op->config.num_outputs, (uint32_t)op->config.num_threads);
    block_add(block, bytes, size + 8, 8);
}

static void reductions_of_every_version_are_read(void **state)
{
    struct reduce_op op = reduce_rows(1000, 300, 2, 256, ADDRESS(1), ADDRESS(2));
    struct block block;
    (void)state;
    for (uint32_t numbers = 14; numbers <= 16; numbers++) {
        for (uint32_t head = 4; head <= 32; head += 4) {
            reduction(&block, &op, head, numbers, numbers == 16);
            block_costs(SUM_OF("c10::BFloat16"), &block, 1000 * 300 * 2 + 1000 * 2, 300000);
        }
    }
    op.output.strides[0][0] = 8; /* these strides fit output elements of any size */
    reduction(&block, &op, 8, 16, true);
    block_costs(
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_7MeanOpsIS4_fffEEjfLi4ELi4EEEEEvT1_",
        &block, 1000 * 300 * 2 + 1000 * 4, 300000);
    block_costs(
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_7MeanOpsIS4_fffEEjS4_Li4ELi4EEEEEvT1_",
        &block, 1000 * 300 * 2 + 1000 * 2, 300000);
    block_costs("void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<c10::Half, "
                "at::native::ArgMaxOps<float>, "
                "unsigned int, long, (int)4, (int)4>>(T3)",
                &block, 1000 * 300 * 2 + 1000 * 8, 0);
    block_costs("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, "
                "at::native::func_wrapper_t<c10::Half, "
                "at::native::MaxNanFunctor<c10::Half> >, unsigned int, c10::Half, 4, 4> >(X)",
                &block, 1000 * 300 * 2 + 1000 * 2, 300000);
}

static void a_reduction_of_a_broadcast_array_reads_it_once(void **state)
{
    struct reduce_op op = reduce_rows(1000, 300, 4, 256, ADDRESS(1), ADDRESS(2));
    struct block block;
    (void)state;
    op.output.strides[0][1] = 0;
    reduction(&block, &op, 8, 16, true);
    block_costs(SUM_OF("float"), &block, 300 * 4 + 1000 * 4, 300000);
    op.output.strides[0][1] = 4; /* neighbouring outputs share inputs, so the bytes read are not known */
    reduction(&block, &op, 8, 16, true);
    block_costs(SUM_OF("float"), &block, 0, 0);
}

static void two_outputs_are_known_of_variance(void **state)
{
    static const char variance[] = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                                   "at::native::WelfordOps<float, float, int, "
                                   "float, thrust::pair<float, float> >, unsigned int, float, 2> >(X)";
    struct reduce_op op = reduce_rows(1000, 300, 4, 256, ADDRESS(1), ADDRESS(2));
    struct block block;
    (void)state;
    op.noutputs = 2;
    op.dst[1] = ADDRESS(3);
    reduction(&block, &op, 32, 16, true);
    block_costs(variance, &block, 300000 * 4 + 2 * 1000 * 4, 900000);
    block_costs(SUM_OF("float"), &block, 0, 0);
    op.dst[1] = 0;
    reduction(&block, &op, 32, 16, true);
    block_costs(variance, &block, 0, 0);
}

static void a_reduction_that_does_not_fit_says_nothing(void **state)
{
    struct reduce_op good = reduce_rows(1000, 300, 4, 256, ADDRESS(1), ADDRESS(2)), op;
    int32_t *const fields[] = {
        &op.config.element_bytes,
        &op.config.num_inputs,
        &op.config.num_outputs,
        &op.config.step_output,
        &op.config.block_width,
        &op.config.block_height,
        &op.config.ctas_per_output,
        &op.config.num_threads,
        &op.config.output_vector,
        &op.input.dims,
        &op.output.dims,
        &op.input.strides[1][0],
        &op.output.strides[24][1],
        &op.output.strides[2][0],
        &op.noutputs,
        (int32_t *)&op.input.sizes[0].divisor,
        (int32_t *)&op.input.sizes[0].multiplier,
        (int32_t *)&op.output.sizes[0].shift,
        (int32_t *)&op.output.sizes[24].divisor,
    };
    struct block block;
    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        op = good;
        *fields[i] = -3;
        reduction(&block, &op, 8, 16, true);
        block_costs(SUM_OF("float"), &block, 0, 0);
    }
    op = good;
    op.src = 7;
    reduction(&block, &op, 8, 16, true);
    block_costs(SUM_OF("float"), &block, 0, 0);
    reduction(&block, &good, 8, 16, true);
    block.shape.grid_x++;
    block_costs(SUM_OF("float"), &block, 0, 0);
}

static void strided(struct block *block, const struct strided *closure, uint32_t elements)
{
    block_begin(block, 100, 128);
    block_add_u32(block, elements);
    block_add(block, closure, sizeof(*closure), 8);
}

static void broadcast_arrays_count_what_is_read_of_them(void **state)
{
    struct strided closure = strided_rows(1000, 300, 2, ADDRESS(1), ADDRESS(2), ADDRESS(3));
    struct block block;
    (void)state;
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 2 * 600000 + 600, 300000);
    block_costs(
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIN3c108BFloat"
        "16ES5_S5_NS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
        &block, 2 * 600000 + 600, 300000);
    closure.data[2] = ADDRESS(2); /* an array and its own first row: both are counted as read */
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 2 * 600000 + 600, 300000);
    for (int i = 0; i < 3; i++) { /* transposed arrays, of which every second element is used */
        closure.table.strides[0][i] = 4 * 1000;
        closure.table.strides[1][i] = 4;
    }
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 2 * 600000, 300000);
}

static void a_lambda_over_strides_is_read(void **state)
{
    static const char *const names[] = {
        STRIDED("gpu_kernel_impl_nocast",
                "where_kernel_impl(at::TensorIterator&)::{lambda()#1}::operator()() const::{lambda(bool, float)#1}"),
        "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_44_GLOBAL__N__50c743a2_11_"
        "Indexing_cu_89862edb18masked_fill_kernelERNS_14TensorIteratorERKN3c106ScalarEENKUlvE_clEvENKUlvE5_"
        "clEvEUlfbE_"
        "EEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
    };
    struct strided closure = strided_rows(1000, 300, 4, ADDRESS(1), ADDRESS(2), ADDRESS(3));
    struct block block;
    (void)state;
    assert_int_equal(ws_arguments_form_of(names[0]).arrays,
                     0); /* the demangled name lacks the lambda's return type */
    closure.table.strides[0][2] = 1;
    strided(&block, &closure, 300000);
    block_costs(names[1], &block, 2 * 1200000 + 300, 0);
}

static void strides_that_do_not_fit_say_nothing(void **state)
{
    struct strided good = strided_rows(1000, 300, 2, ADDRESS(1), ADDRESS(2), ADDRESS(3)), closure;
    struct block block;
    (void)state;
    strided(&block, &good, 299999);
    block_costs(bf16_add, &block, 0, 0);
    closure = good;
    closure.data[1] = 17;
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 0, 0);
    closure = good;
    closure.table.sizes[1].multiplier++;
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 0, 0);
    closure = good;
    closure.table.strides[1][1] = 2; /* rows of the array overlap */
    strided(&block, &closure, 300000);
    block_costs(bf16_add, &block, 0, 0);
}

/* In a damaged trace, a word may state more bytes than a parameter block has room for. Such a word is skipped. */
static void words_that_cannot_be_are_passed_over(void **state)
{
    struct strided closure = strided_rows(1000, 300, 2, ADDRESS(1), ADDRESS(2), ADDRESS(3));
    struct block block;
    (void)state;
    strided(&block, &closure, 300000);
    block.words[0].size = 255;
    block_costs(bf16_add, &block, 0, 0);
    block.words[0] = (struct ws_param_word){ .offset = 0, .size = 255, .value = 300000 };
    block_costs("void vllm::rms_norm_kernel<c10::BFloat16>(X)", &block, 0, 0);
}

static void types_of_cast_arrays_are_in_the_block(void **state)
{
    static const char copy[] =
        CAST("direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}",
             "2", "1");
    static const char multiply[] =
        CAST("BinaryFunctor<double, double, double, at::native::binary_internal::MulFunctor<double> >", "3", "2");
    struct load_with_cast from = { 15, 2 }, to = { 6, 4 };
    struct {
        int8_t types[2];
        uint32_t bytes[2];
    } inputs = { { 6, 7 }, { 4, 8 } };
    uint64_t data[3] = { ADDRESS(1), ADDRESS(2), ADDRESS(3) };
    struct block block;
    (void)state;
    block_begin(&block, 10, 128);
    block_add_u32(&block, 5000);
    block_add_byte(&block);
    block_add(&block, data, 16, 8);
    block_add_byte(&block);
    block_add_byte(&block);
    block_add(&block, &from, 8, 4);
    block_add(&block, &to, 8, 4);
    block_costs(copy, &block, 5000 * 6, 0);
    block.words[4].value = (uint64_t)8 << 32 | 15; /* the size of a bfloat16 is not 8 bytes */
    block_costs(copy, &block, 0, 0);

    block_begin(&block, 10, 128);
    block_add_u32(&block, 5000);
    block_add_byte(&block);
    block_add(&block, data, 24, 8);
    block_add_byte(&block);
    block_add_byte(&block);
    block_add(&block, &inputs, 12, 4);
    block_add(&block, &to, 8, 4);
    block_costs(multiply, &block, 5000 * (4 + 8 + 4), 5000);
}

static void strided_casts_are_read_where_steps_and_types_agree(void **state)
{
    static const char multiply[] = STRIDED(
        "gpu_kernel_impl", "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >");
    static struct {
        struct strided strided;
        int8_t types[3];
    } closure;
    struct block block;
    (void)state;
    closure.strided = strided_rows(1000, 300, 4, ADDRESS(1), ADDRESS(2), ADDRESS(3));
    memcpy(closure.types, (int8_t[]){ 6, 15, 15 }, 3);
    closure.strided.table.strides[0][1] = closure.strided.table.strides[0][2] = 2;
    closure.strided.table.strides[1][1] = 600;
    block_begin(&block, 100, 128);
    block_add_u32(&block, 300000);
    block_add(&block, &closure, sizeof(closure), 8);
    block_costs(multiply, &block, 1200000 + 600000 + 600, 300000);
    closure.types[1] = 7;
    block_begin(&block, 100, 128);
    block_add_u32(&block, 300000);
    block_add(&block, &closure, sizeof(closure), 8);
    block_costs(multiply, &block, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_of_every_version_are_read),
        cmocka_unit_test(a_reduction_of_a_broadcast_array_reads_it_once),
        cmocka_unit_test(two_outputs_are_known_of_variance),
        cmocka_unit_test(a_reduction_that_does_not_fit_says_nothing),
        cmocka_unit_test(broadcast_arrays_count_what_is_read_of_them),
        cmocka_unit_test(a_lambda_over_strides_is_read),
        cmocka_unit_test(strides_that_do_not_fit_say_nothing),
        cmocka_unit_test(words_that_cannot_be_are_passed_over),
        cmocka_unit_test(types_of_cast_arrays_are_in_the_block),
        cmocka_unit_test(strided_casts_are_read_where_steps_and_types_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
