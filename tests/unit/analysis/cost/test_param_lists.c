/* Tests of kernels that work on lists of tensors, and of kernels that concatenate arrays. Their bytes follow from the
 * pieces and sizes in their parameter structures. */
#include "blocks.h"

#include "tests/walls/pytorch.h"

static const char adam[] =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_"
    "20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE0ELb0EEEJPKfddddbdS8_EEEvT_T0_DpT1_";

/* Fills the list with three tensors. Their lengths are one piece (LIST_CHUNK elements) plus 5 elements, half a piece,
 * and three pieces. The first `from` pieces of the first tensor belong to another launch. Returns the number of the
 * pieces that are left. */
static uint32_t pieces(struct tensor_list *list, uint32_t from)
{
    static const int64_t sizes[] = { LIST_CHUNK + 5, LIST_CHUNK / 2, 3 * LIST_CHUNK };
    uint32_t blocks = 0;
    memset(list, 0, sizeof(*list));
    for (uint8_t tensor = 0; tensor < 3; tensor++) {
        list->elements[tensor] = sizes[tensor];
        for (int i = 0; i < 4; i++)
            list->addresses[i][tensor] = ADDRESS(4 * tensor + i + 1);
        for (int32_t piece = tensor ? 0 : (int32_t)from; piece * (int64_t)LIST_CHUNK < sizes[tensor]; piece++) {
            list->block_to_tensor[blocks] = tensor;
            list->block_to_chunk[blocks++] = piece;
        }
    }
    return blocks;
}

static void optimizer(struct block *block, const struct tensor_list *list, uint32_t blocks, bool scaled)
{
    double rate = 1e-3;
    uint64_t none = 0, pointers[2] = { ADDRESS(50), ADDRESS(51) };
    block_begin(block, blocks, 512);
    block_add(block, list, sizeof(*list), 8);
    block_add_byte(block);
    block_add(block, &none, 8, 8);
    for (int i = 0; i < 5; i++)
        block_add(block, &rate, 8, 8);
    block_add_byte(block);
    block_add(block, scaled ? &pointers[0] : &none, 8, 8);
    block_add(block, scaled ? &pointers[1] : &none, 8, 8);
}

static void lists_of_tensors_are_counted_piece_by_piece(void **state)
{
    struct tensor_list list;
    struct block block;
    uint32_t blocks = pieces(&list, 0);
    double all = 4.5 * LIST_CHUNK + 5;
    (void)state;
    optimizer(&block, &list, blocks, false);
    block_costs(adam, &block, all * 4 * 7, 0);
    optimizer(&block, &list, blocks, true);
    block_costs(adam, &block, all * 4 * 8, 0);
    blocks = pieces(&list, 1);
    optimizer(&block, &list, blocks, false);
    block_costs(adam, &block, (all - LIST_CHUNK) * 4 * 7, 0);
    optimizer(&block, &list, blocks - 1, false); /* the last piece belongs to another launch */
    block_costs(adam, &block, (all - 2 * LIST_CHUNK) * 4 * 7, 0);
}

static void lists_that_do_not_fit_say_nothing(void **state)
{
    struct tensor_list list;
    struct block block;
    uint32_t blocks = pieces(&list, 0);
    (void)state;
    optimizer(&block, &list, blocks + 1, false);
    block_costs(adam, &block, 0, 0);
    for (uint32_t i = 0; i < blocks; i++) {
        pieces(&list, 0);
        list.block_to_tensor[i]++;
        optimizer(&block, &list, blocks, false);
        block_costs(adam, &block, 0, 0);
        pieces(&list, 0);
        list.block_to_chunk[i] += 2;
        optimizer(&block, &list, blocks, false);
        block_costs(adam, &block, 0, 0);
    }
    pieces(&list, 0);
    list.elements[1] = 0;
    optimizer(&block, &list, blocks, false);
    block_costs(adam, &block, 0, 0);
}

/* Fills a list of another layout, with one tensor of one piece. The layout has `lists` lists, each with room for
 * `most` tensors. After the sizes, the layout has `each` more bytes for every tensor. */
static void one_tensor(struct block *block, uint32_t lists, uint32_t most, uint32_t size_bytes, uint32_t each)
{
    static char bytes[4000];
    uint32_t sizes = 8 * lists * most, tensors = sizes + (size_bytes + each) * most,
             end = tensors + 320 + 4 * 320 + 4;
    uint64_t address = ADDRESS(1), elements = 777;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, &address, 8);
    memcpy(bytes + sizes, &elements, size_bytes);
    memset(bytes + sizes + size_bytes * most, 0x3f, each * most);
    block_add(block, bytes, (end + 7) / 8 * 8, 8);
}

static void lists_of_other_shapes_are_read(void **state)
{
    static const char foreach_add[] =
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::TensorList"
        "Metadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>, "
        "std::plus<float>, "
        "float>(X)";
    static const char foreach_multiply[] = "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"
                                           "18TensorListMetadataILi1EEENS1_21BinaryOpScalarFunctor"
                                           "IfLi1ELi1ELi0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_";
    static const char scaled_by_each[] =
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::TensorList"
        "ScalarListMetadata<float, 1>, at::native::(anonymous namespace)::BinaryOpScalarListFunctor<c10::Half, 1, 1, "
        "0>, "
        "std::multiplies<float> >(X)";
    static const char scaled_double[] = "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"
                                        "28TensorListScalarListMetadataIdLi3EEENS1_27PointwiseOp"
                                        "ScalarListFunctorIdLi3ELi3ELi0EEEJSt10multipliesIdEEEEvT_T0_DpT1_";
    static const char apex_adam[] =
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float, float, float, "
        "float, float, "
        "adamMode_t, float, int, int>(int, int volatile*, TensorListMetadata<4>, AdamFunctor<float>, X)";
    struct block block;
    uint64_t flag = ADDRESS(9);
    (void)state;
    block_begin(&block, 1, 512);
    one_tensor(&block, 2, 64, 8, 0);
    block_costs(foreach_add, &block, 777 * 2 * 3, 0);
    block_begin(&block, 1, 512);
    one_tensor(&block, 1, 110, 8, 0);
    block_costs(foreach_multiply, &block, 777 * 4 * 2, 0);
    block_begin(&block, 1, 512);
    one_tensor(&block, 1, 96, 8, 4);
    block_costs(scaled_by_each, &block, 777 * 2 * 2, 0);
    block_begin(&block, 1, 512);
    one_tensor(&block, 3, 48, 8, 8);
    block_costs(scaled_double, &block, 777 * 8 * 4, 0);
    block_begin(&block, 1, 512);
    block_add_u32(&block, 2048);
    block_add(&block, &flag, 8, 8);
    one_tensor(&block, 4, 36, 4, 0);
    block_costs(apex_adam, &block, 777 * 4 * 7, 0);
    block_costs(foreach_add, &block, 0, 0);
}

/* The layout of PyTorch's CatArrInputTensorMetadata for 128 contiguous inputs. The structure that follows is the
 * layout for 64 strided inputs. */
struct joined {
    uint64_t input[128];
    uint32_t offset[128], extent[128], elements[128];
    bool contiguous[128];
    uint32_t strides[2 * 4];
};

struct joined_strided {
    uint64_t input[64];
    uint32_t offset[64], extent[64], elements[64];
    bool contiguous[64];
    uint32_t strides[64][2][4]; /* for each input: sizes, then strides */
};

static void join(struct block *block, const void *metadata, uint32_t size, uint32_t inputs)
{
    uint64_t out = ADDRESS(90);
    block_begin(block, 100, 128);
    block->shape.grid_y = inputs;
    block_add(block, &out, 8, 8);
    block_add(block, metadata, size, 8);
    block_add(block, (uint32_t[8]){ 0 }, 32, 4);
    block_add_u32(block, 1);
    block_add_u32(block, 1);
}

static void joined_arrays_are_read_and_written(void **state)
{
    static const char *const names[] = {
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*, X)",
        "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned "
        "int)4>, "
        "unsigned int, (int)1, (int)128, (int)1, (int)16, (int)4>(char *, X)",
        "_ZN2at6native40_GLOBAL__N__5f8a1b7c_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_"
        "10OpaqueTypeILj4EEEjLi2ELi64"
        "ELi64EEEvPT_X",
    };
    struct joined joined = { .input = { ADDRESS(1), ADDRESS(2), ADDRESS(3) },
                             .offset = { 5, 12, 14 },
                             .extent = { 7, 2, 3 },
                             .elements = { 700, 200, 300 } };
    struct joined_strided strided = { .input = { ADDRESS(1), ADDRESS(2) },
                                      .offset = { 0, 7 },
                                      .extent = { 7, 2 },
                                      .elements = { 700, 200 },
                                      .contiguous = { true, false },
                                      .strides = { [1] = { { 100, 2 }, { 3, 400 } } } };
    struct block block;
    (void)state;
    for (int i = 0; i < 2; i++) {
        join(&block, &joined, sizeof(joined), 3);
        block_costs(names[i], &block, 2 * 1200 * 4, 0);
    }
    join(&block, &joined, sizeof(joined), 4); /* the grid is for four inputs, but the structure has three */
    block_costs(names[0], &block, 0, 0);
    joined.offset[2]++;
    join(&block, &joined, sizeof(joined), 3);
    block_costs(names[0], &block, 0, 0);
    join(&block, &strided, sizeof(strided), 2);
    block_costs(names[2], &block, 2 * 900 * 4, 0);
    strided.strides[1][1][0] = 0; /* a stride of 0: the input is expanded */
    join(&block, &strided, sizeof(strided), 2);
    block_costs(names[2], &block, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_tensors_are_counted_piece_by_piece),
        cmocka_unit_test(lists_that_do_not_fit_say_nothing),
        cmocka_unit_test(lists_of_other_shapes_are_read),
        cmocka_unit_test(joined_arrays_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
