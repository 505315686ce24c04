#include "check.h"

#include "analysis/cost/operators.h"

static size_t parse(const char *text, struct ws_tensor *tensors)
{
    struct ws_text inputs = { text, (uint32_t)strlen(text) };
    return ws_tensors_parse(&inputs, tensors);
}

static bool cost_of(const char *operator, const char * inputs, struct ws_operator_cost *cost)
{
    struct ws_tensor tensors[WS_TENSORS];
    const struct ws_operator *found = ws_operator_find(operator, strlen(operator));
    assert_non_null(found);
    return ws_operator_cost(found, tensors, parse(inputs, tensors), cost);
}

static void check_cost(const char *operator, const char * inputs, double flops, double bytes)
{
    struct ws_operator_cost cost;
    assert_true(cost_of(operator, inputs, &cost));
    assert_true(cost.flops == flops);
    assert_true(cost.bytes == bytes);
}

static void inputs_are_read(void **state)
{
    struct ws_tensor tensors[WS_TENSORS];
    (void)state;
    assert_int_equal(
        parse("c10::BFloat16[32,128] long_int[32] Scalar - float TensorList[[2,3],[4]] float[]", tensors), 7);
    assert_true(tensors[0].known && tensors[0].element == WS_ELEMENT_BF16 && ws_tensor_bytes(&tensors[0]) == 8192);
    assert_true(tensors[1].known && tensors[1].rank == 1 && ws_tensor_bytes(&tensors[1]) == 256);
    assert_false(tensors[2].known || tensors[3].known || tensors[5].known);
    assert_true(tensors[4].known && tensors[4].elements == 1);
    assert_true(tensors[6].known && tensors[6].elements == 1);
}

/* A tensor whose type is "-" is never in memory. The size of such a tensor has no limit, so a damaged trace can state
 * any size. An absurd size must give no cost. */
static void sizes_that_cannot_be_cost_nothing(void **state)
{
    char inputs[4096], nines[400];
    struct ws_operator_cost cost;
    (void)state;
    memset(nines, '9', sizeof(nines));
    nines[sizeof(nines) - 1] = 0;
    for (int digits = 30; digits < 400; digits += 123) {
        nines[digits] = 0;
        snprintf(inputs, sizeof(inputs), "-[%s,64] -[64,%s] float[%s,%s] Scalar=False", nines, nines, nines, nines);
        assert_false(cost_of("cudnnBackendExecute matmul", inputs, &cost));
        snprintf(inputs, sizeof(inputs), "-[1,%s,8,8] float[64,%s,3,3] -[1,64,%s,8] Scalar=False float[8]", nines,
                 nines, nines);
        assert_false(cost_of("cudnnBackendExecute convolution_forward", inputs, &cost));
        nines[digits] = '9';
    }
}

static void values_are_read(void **state)
{
    struct ws_tensor tensors[WS_TENSORS];
    (void)state;
    assert_int_equal(
        parse("ScalarList=[2,-3] Scalar=False Scalar=0.125 Scalar ScalarList=[True,True,False] -=7", tensors), 6);
    assert_true(tensors[0].values == 2 && tensors[0].value[0] == 2 && tensors[0].value[1] == -3);
    assert_true(tensors[1].values == 1 && tensors[1].value[0] == 0 && !tensors[1].fraction);
    assert_true(tensors[2].values == 1 && tensors[2].value[0] == 0.125 && tensors[2].fraction);
    assert_int_equal(tensors[3].values, 0);
    assert_true(tensors[4].values == 3 && tensors[4].value[1] == 1 && tensors[4].value[2] == 0);
    assert_true(tensors[5].values == 1 && tensors[5].value[0] == 7);
    static const char *const odd[] = { "a=",   "a=[",   "a=[]",   "a=[2",     "a=[2,",    "a=[2]x",
                                       "a=2]", "a=nan", "a=2,3",  "a=Truest", "a=[[2]]",  "a=-",
                                       "a=.5", "a==2",  "a=cuda", "a=1e-05",  "a=[2,,3]", "a=[1,2,3,4,5]" };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        assert_int_equal(parse(odd[i], tensors), 1);
        assert_int_equal(tensors[0].values, 0);
    }
}

static void odd_inputs_are_not_believed(void **state)
{
    static const char *const odd[] = { "float[",
                                       "float[2",
                                       "float[2,",
                                       "float[,]",
                                       "float[-1]",
                                       "float[2x3]",
                                       "[2,3]",
                                       "float[1,1,1,1,1,1,1,1,1]",
                                       "float[99999999999999999999999]",
                                       "float[[2]]",
                                       "?" };
    struct ws_tensor tensors[WS_TENSORS];
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        assert_int_equal(parse(odd[i], tensors), 1);
        assert_false(tensors[0].known);
    }
    assert_int_equal(parse("", tensors), 0);
    assert_int_equal(parse("a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J", tensors),
                     WS_TENSORS);
}

static void products_by_hand(void **state)
{
    (void)state;
    check_cost("aten::mm", "float[3,5] float[5,7]", 2 * 3 * 5 * 7, (15 + 35 + 21) * 4);
    check_cost("aten::addmm", "c10::Half[7] c10::Half[3,5] c10::Half[5,7] Scalar Scalar", 210, 71 * 2);
    check_cost("aten::bmm", "float[2,3,5] float[2,5,7]", 420, 2 * 71 * 4);
    check_cost("aten::linear", "float[4,6,5] float[7,5] float[7]", 2 * 24 * 7 * 5, (120 + 35 + 24 * 7) * 4);
    check_cost("aten::_scaled_mm", "c10::Float8_e4m3fn[16,32] c10::Float8_e4m3fn[32,64] float float",
               2 * 16 * 32 * 64, 16 * 32 + 32 * 64 + 16 * 64 * 2);
    struct ws_operator_cost cost;
    assert_false(cost_of("aten::mm", "float[3,5] float[6,7]", &cost));
    assert_false(cost_of("aten::mm", "float[3,5]", &cost));
    assert_false(cost_of("aten::mm", "- -", &cost));
    assert_false(cost_of("aten::addmm", "float[7] float[3,5]", &cost));
}

static void graphs_of_cudnn_by_hand(void **state)
{
    struct ws_operator_cost cost;
    (void)state;
    /* The FLOPs are equal for the forward pass and both gradients: 2 · N · K · P · Q · (C / groups) · R · S (N
     * images, C and K channels, P × Q outputs, filters of R × S). */
    double flops = 2.0 * 2 * 6 * 5 * 5 * 2 * 3 * 3, bytes = (2 * 4 * 25 + 6 * 2 * 9 + 2 * 6 * 25) * 2;
    const char *given = "c10::Half[2,4,5,5] c10::Half[6,2,3,3] c10::Half[2,6,5,5]";
    check_cost("cudnnConvolutionForward", given, flops, bytes);
    check_cost("cudnnConvolutionBackwardData", given, flops, bytes);
    check_cost("cudnnConvolutionBackwardFilter", given, flops, bytes);
    /* A convolution with a bias. "-" is the result before the bias is added, which is not written to memory. */
    check_cost("cudnnBackendExecute convolution_forward",
               "c10::Half[2,4,5,5] c10::Half[6,2,3,3] -[2,6,5,5] Scalar=False c10::Half[1,6,1,1] c10::Half[2,6,5,5] "
               "compute_32f",
               flops, bytes + 12);
    assert_false(cost_of("cudnnConvolutionForward", "c10::Half[2,4,5,5] c10::Half[6,2,3,3]", &cost));
    assert_false(
        cost_of("cudnnConvolutionForward", "c10::Half[2,5,5,5] c10::Half[6,2,3,3] c10::Half[2,6,5,5]", &cost));
    assert_false(
        cost_of("cudnnConvolutionForward", "c10::Half[2,4,5,5] c10::Half[6,2,3,3] c10::Half[2,7,5,5]", &cost));
    assert_false(cost_of("cudnnConvolutionForward", "-[2,4,5,5] -[6,2,3,3] -[2,6,5,5]", &cost));

    const char *attention = "float[3,4,8] float[3,8,5] -[3,4,5] -[3,4,5] float[3,5,8] float[3,4,8] Scalar=";
    char text[256];
    double gemms = 2 * 2.0 * 3 * 4 * 5 * 8, moved = 4.0 * (96 + 120 + 120 + 96);
    snprintf(text, sizeof(text), "%sFalse", attention);
    check_cost("cudnnBackendExecute matmul", text, gemms, moved);
    assert_true(cost_of("cudnnBackendExecute matmul", text, &cost) && !cost.note && cost.m == 0);
    snprintf(text, sizeof(text), "%sTrue float[3,4,1]", attention);
    check_cost("cudnnBackendExecute matmul", text, gemms, moved + 48);
    assert_true(cost_of("cudnnBackendExecute matmul", text, &cost) && cost.note);
    assert_true(cost_of("cudnnBackendExecute matmul", "float[3,4,8] float[3,8,5] float[3,4,5] Scalar=False", &cost));
    assert_true(cost.batch == 3 && cost.m == 4 && cost.n == 5 && cost.k == 8);
    assert_false(cost_of("cudnnBackendExecute matmul", "float[3,4,8] float[3,7,5] float[3,4,5] Scalar=False", &cost));
    assert_false(cost_of("cudnnBackendExecute matmul", "float[3,4,8] float[3,8,5] Scalar=False", &cost));
    check_cost("cudnnBackendExecute", "float[16,16] float[1,16] float[16,16]", 0, 4 * (256 + 16 + 256));
    check_cost("cudnnBackendExecute sdpa_forward", "float[1,2,4,8] float[1,2,4,8] float[1,2,4,8] Scalar=False",
               4.0 * 2 * 4 * 4 * 8, 4 * 4 * 64);
}

static void attention_by_hand(void **state)
{
    (void)state;
    check_cost("aten::_flash_attention_forward", "c10::Half[2,10,4,8] c10::Half[2,20,4,8] c10::Half[2,20,4,8]",
               4.0 * 2 * 4 * 10 * 20 * 8, (2 * 640 + 1280 + 1280) * 2);
    check_cost("aten::_scaled_dot_product_flash_attention",
               "c10::Half[2,4,10,8] c10::Half[2,4,20,8] c10::Half[2,4,20,8]", 4.0 * 2 * 4 * 10 * 20 * 8,
               (2 * 640 + 1280 + 1280) * 2);
    check_cost("aten::_flash_attention_backward",
               "c10::Half[2,10,4,8] c10::Half[2,10,4,8] c10::Half[2,20,4,8] c10::Half[2,20,4,8]",
               10.0 * 2 * 4 * 10 * 20 * 8, 2 * (2 * 640 + 1280 + 1280) * 2);
}

static const char *note_of(const char *operator, const char * inputs, double flops)
{
    struct ws_operator_cost cost;
    assert_true(cost_of(operator, inputs, &cost));
    assert_true(cost.flops == flops);
    return cost.note;
}

#define QKV(queries) "c10::Half[2,4," queries ",8] c10::Half[2,4,10,8] c10::Half[2,4,10,8]"

static void causal_attention_needs_half_where_it_is_said_to_be(void **state)
{
    const double full = 4.0 * 2 * 4 * 10 * 10 * 8;
    const char *note;
    (void)state;
    assert_non_null(note_of("aten::scaled_dot_product_attention", QKV("10"), full));
    assert_non_null(
        note_of("aten::scaled_dot_product_attention", QKV("10") " - Scalar=0. Scalar Scalar=0.125", full));
    note = note_of("aten::scaled_dot_product_attention", QKV("10") " - Scalar=0. Scalar=True Scalar=0.125", full / 2);
    assert_null(note);
    note =
        note_of("aten::_scaled_dot_product_flash_attention", QKV("10") " Scalar=0.1 Scalar=False Scalar=False", full);
    assert_null(note);
    note = note_of("aten::_scaled_dot_product_efficient_attention",
                   QKV("10") " - Scalar=True Scalar=0. Scalar=False Scalar=0.125", full);
    assert_null(note);
    note = note_of("aten::_scaled_dot_product_efficient_attention_backward",
                   "c10::Half[2,4,10,8] " QKV("10") " - - - long_int long_int Scalar=0. "
                                                    "ScalarList=[True,True,True,False] Scalar=True",
                   full * 5 / 4);
    assert_null(note);
    note = note_of("aten::_flash_attention_forward",
                   "c10::Half[2,10,4,8] c10::Half[2,10,4,8] c10::Half[2,10,4,8] - - Scalar=10 Scalar=10 Scalar=0. "
                   "Scalar=True Scalar=False",
                   full / 2);
    assert_null(note);
    note = note_of("aten::_efficient_attention_forward",
                   "c10::Half[2,10,4,8] c10::Half[2,10,4,8] c10::Half[2,10,4,8] - - - Scalar=10 Scalar=10 Scalar=0. "
                   "Scalar=1 Scalar=False",
                   full / 2);
    assert_null(note);
    /* One query with a causal mask: the trace does not say which keys are masked, so all keys count, and a note says
     * this. */
    assert_non_null(note_of("aten::scaled_dot_product_attention", QKV("1") " - Scalar=0. Scalar=True", full / 10));
}

static void convolutions_by_hand(void **state)
{
    struct ws_operator_cost cost;
    (void)state;
    /* Filter 7×7, stride 2, padding 3: an image of 224 × 224 gives an output of 112 × 112. */
    const double first = 2.0 * 32 * 64 * 112 * 112 * 3 * 49;
    const double bytes = (32.0 * 3 * 224 * 224 + 64 * 3 * 49 + 32.0 * 64 * 112 * 112) * 2;
    check_cost("aten::convolution",
               "c10::Half[32,3,224,224] c10::Half[64,3,7,7] - ScalarList=[2,2] ScalarList=[3,3] ScalarList=[1,1] "
               "Scalar=False ScalarList=[0,0] Scalar=1",
               first, bytes);
    check_cost("aten::cudnn_convolution",
               "c10::Half[32,3,224,224] c10::Half[64,3,7,7] ScalarList=[3,3] ScalarList=[2,2] ScalarList=[1,1] "
               "Scalar=1 Scalar=False Scalar=False Scalar=True",
               first, bytes);
    check_cost("aten::miopen_convolution",
               "c10::Half[32,3,224,224] c10::Half[64,3,7,7] - ScalarList=[3,3] ScalarList=[2,2] ScalarList=[1,1] "
               "Scalar=1 Scalar=False Scalar=False",
               first, bytes);
    /* 8 groups, dilation 2: a 3×3 filter covers 5×5, so an image of 10 × 10 gives an output of 6 × 6. */
    check_cost("aten::_convolution",
               "float[2,16,10,10] float[24,2,3,3] float[24] ScalarList=[1,1] ScalarList=[0,0] ScalarList=[2,2] "
               "Scalar=False ScalarList=[0,0] Scalar=8 Scalar=False Scalar=False Scalar=True Scalar=True",
               2.0 * 2 * 24 * 36 * 2 * 9, (2 * 16 * 100 + 24 * 2 * 9 + 2 * 24 * 36) * 4);
    /* A transposed convolution: an input of 10 gives an output of (10 - 1) · 2 - 2 + 2 + 1 + 1 = 20. */
    check_cost(
        "aten::convolution",
        "float[2,16,10] float[16,8,3] - ScalarList=[2] ScalarList=[1] ScalarList=[1] Scalar=True ScalarList=[1] "
        "Scalar=1",
        2.0 * 2 * 10 * 16 * 8 * 3, (2 * 160 + 16 * 8 * 3 + 2 * 8 * 20) * 4);
    check_cost("aten::convolution_backward",
               "float[2,24,8,8] float[2,16,10,10] float[24,16,3,3] - ScalarList=[1,1] ScalarList=[0,0] "
               "ScalarList=[1,1] Scalar=False ScalarList=[0,0] Scalar=1 ScalarList=[True,True,False]",
               2 * 2.0 * 2 * 64 * 24 * 16 * 9, 2 * (2 * 24 * 64 + 2 * 1600 + 24 * 16 * 9) * 4);
    check_cost("aten::convolution_backward",
               "float[2,24,8,8] float[2,16,10,10] float[24,16,3,3] - ScalarList=[1,1] ScalarList=[0,0] "
               "ScalarList=[1,1] Scalar=False ScalarList=[0,0] Scalar=1 ScalarList=[7,0,1]",
               2.0 * 2 * 64 * 24 * 16 * 9, (2 * 24 * 64 + 2 * 1600 + 24 * 16 * 9) * 4);
    check_cost("aten::cudnn_convolution_backward", "float[2,16,10,10] float[2,24,8,8] float[24,16,3,3]",
               2.0 * 2 * 64 * 24 * 16 * 9, (2 * 24 * 64 + 2 * 1600 + 24 * 16 * 9) * 4);
    assert_non_null(note_of("aten::cudnn_convolution_backward_input", "GenericList float[2,24,8,8] float[24,16,3,3]",
                            2.0 * 2 * 64 * 24 * 16 * 9));
    static const char *const unknown[] = {
        "float[2,16,10,10] float[24,16,3,3] - ScalarList ScalarList ScalarList Scalar ScalarList Scalar",
        "float[2,16,10,10] float[24,16,3,3]",
        "float[2,16,10,10] float[24,16,3,3] - ScalarList=[0,0] ScalarList=[0,0] ScalarList=[1,1] Scalar=False "
        "ScalarList=[0,0] Scalar=1",
        "float[2,16,2,2] float[24,16,3,3] - ScalarList=[1,1] ScalarList=[0,0] ScalarList=[1,1] Scalar=False "
        "ScalarList=[0,0] Scalar=1",
        "float[2,16,10,10] float[24,8,3,3] - ScalarList=[1,1] ScalarList=[0,0] ScalarList=[1,1] Scalar=False "
        "ScalarList=[0,0] Scalar=1",
        "float[2,16,10,10] float[0,16,3,3] - ScalarList=[1,1] ScalarList=[0,0] ScalarList=[1,1] Scalar ScalarList "
        "Scalar=1",
    };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_false(cost_of("aten::convolution", unknown[i], &cost));
    assert_false(cost_of("aten::convolution_backward", "float[2,24,8,8] float[2,16,10,10] float[24,16,3,3]", &cost));
    assert_false(cost_of("aten::cudnn_convolution_backward_input", "- float[0,0,0,0] float[24,16,3,3]", &cost));
}

static void moves_by_hand(void **state)
{
    (void)state;
    check_cost("aten::add", "float[100,10] float[10] Scalar", 1000, (1000 + 10 + 1000) * 4);
    check_cost("aten::copy_", "c10::Half[1000] float[1000] Scalar", 0, 6000);
    check_cost("aten::eq", "float[1000] Scalar", 0, 5000);
    check_cost("aten::mul_", "float[1000] float[1000]", 1000, 12000);
    check_cost("aten::native_layer_norm", "float[10,100] ScalarList float[100] float[100] Scalar", 8000,
               (1000 + 100 + 100 + 1000) * 4);
    check_cost("triton_poi_fused_add_1", "float[100] float[200] long_int", 0, 1200 + 8);
    assert_null(ws_operator_find("aten::unheard_of", 16));
    assert_null(ws_operator_find("aten::m", 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_read),
        cmocka_unit_test(odd_inputs_are_not_believed),
        cmocka_unit_test(sizes_that_cannot_be_cost_nothing),
        cmocka_unit_test(products_by_hand),
        cmocka_unit_test(attention_by_hand),
        cmocka_unit_test(graphs_of_cudnn_by_hand),
        cmocka_unit_test(moves_by_hand),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(causal_attention_needs_half_where_it_is_said_to_be),
        cmocka_unit_test(convolutions_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
