/* Tests of FlashAttention kernels: which FLOPs and bytes follow from their parameter structure, and when these are
 * not known. */
#include "blocks.h"

#include "tests/walls/pytorch.h"

#define TRAITS                                                                                        \
    "<64, 128, 64, 4, false, false, cutlass::bfloat16_t, flash::Flash_kernel_traits<64, 128, 64, 4, " \
    "cutlass::bfloat16_t> >"
#define FORWARD(truths) "void flash::flash_fwd_kernel<flash::Flash_fwd_kernel_traits" TRAITS ", " truths ">(X)"

static const char full[] = FORWARD("false, false, false, false, true, true, false, false");
static const char causal[] =
    "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi64ELi4ELb0ELb0EN7cutlass10bfloat16_tE"
    "19Flash_kernel_traitsILi128ELi128ELi64ELi4ES3_EELb0ELb1ELb0ELb0ELb0ELb1ELb0ELb0EEEvNS_16Flash_fwd_paramsE";
static const char backward[] =
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<64, 64, "
    "128, "
    "8, 4, 2, 4, true, false, cutlass::half_t, pytorch_flash::Flash_kernel_traits<64, 64, 128, 8, cutlass::half_t> "
    ">, "
    "false, true, false, false, true, true>(pytorch_flash::Flash_bwd_params)";

enum { BATCH = 3, SEQUENCE = 500, HEADS = 8, HEAD = 64 };

static struct flash_params good(void)
{
    return flash_attention(BATCH, SEQUENCE, HEADS, ADDRESS(1), ADDRESS(2));
}

static void launch(struct block *block, const struct flash_params *params)
{
    block_begin(block, 4, 128);
    block->shape.grid_y = BATCH;
    block->shape.grid_z = HEADS;
    block_add(block, params, sizeof(*params), 8);
}

static void attention_is_two_products_and_five_backward(void **state)
{
    double queries = BATCH * SEQUENCE * HEADS, array = queries * HEAD, gemms = array * SEQUENCE;
    struct flash_params params = good();
    struct block block;
    (void)state;
    launch(&block, &params);
    block_costs(full, &block, 4 * array * 2 + queries * 4, 4 * gemms);
    block_costs(causal, &block, 4 * array * 2 + queries * 4, 2 * gemms);
    block_costs(backward, &block, 6 * array * 2 + array * 4 + queries * 8, 5 * gemms);
    assert_null(block_cost(causal, &block).note);
    params.key_heads = 2; /* four heads of queries share one head of keys */
    params.ratio = 4;
    launch(&block, &params);
    block_costs(full, &block, 2.5 * array * 2 + queries * 4, 4 * gemms);
    params.keys = 250;
    params.keys_rounded = 256;
    launch(&block, &params);
    block_costs(causal, &block, 2.25 * array * 2 + queries * 4, 2 * gemms);
    assert_non_null(block_cost(causal, &block).note);
}

/* Before FlashAttention 2.2 the structure had no fields for partial sums and appended keys. */
static void an_older_structure_is_read(void **state)
{
    struct flash_params params = good();
    static char bytes[400];
    struct block block;
    (void)state;
    memcpy(bytes, &params, 120);
    memcpy(bytes + 120, &params.o_strides, 40);
    memcpy(bytes + 160, &params.batch, 12);
    memcpy(bytes + 172, &params.head, 16);
    block_begin(&block, 4, 128);
    block.shape.grid_y = BATCH;
    block.shape.grid_z = HEADS;
    block_add(&block, bytes, sizeof(bytes), 8);
    double queries = BATCH * SEQUENCE * HEADS, array = queries * HEAD;
    block_costs(full, &block, 4 * array * 2 + queries * 4, 4 * array * SEQUENCE);
    block_costs(FORWARD("false, true, true, true, false"), &block, 4 * array * 2 + queries * 4, 2 * array * SEQUENCE);
}

static void what_does_not_fit_says_nothing(void **state)
{
    struct flash_params params;
    int32_t *const fields[] = { &params.heads,        &params.key_heads,      &params.ratio, &params.batch,
                                &params.queries,      &params.keys,           &params.head,  &params.head_rounded,
                                &params.keys_rounded, &params.queries_rounded };
    struct block block;
    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        params = good();
        *fields[i] += 2000;
        launch(&block, &params);
        block_costs(full, &block, 0, 0);
    }
    params = good();
    params.lengths[0] = ADDRESS(7); /* sequences of different lengths: only the longest length is known */
    launch(&block, &params);
    block_costs(full, &block, 0, 0);
    params = good();
    launch(&block, &params);
    block.shape.grid_x = 3;
    block_costs(full, &block, 0, 0);
    /* With a sliding window not all keys are read, so no cost is computed. */
    assert_int_equal(ws_arguments_form_of(FORWARD("false, false, true, false, true, true, false, false")).arrays, 0);
    assert_int_equal(ws_arguments_form_of("void flash::flash_fwd_kernel<flash::Flash_kernel_traits<64, ").arrays, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_two_products_and_five_backward),
        cmocka_unit_test(an_older_structure_is_read),
        cmocka_unit_test(what_does_not_fit_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
