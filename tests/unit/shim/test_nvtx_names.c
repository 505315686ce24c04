/* Tests of the names of NVTX ranges: domains and strings, wrong handles, long texts, and what happens when a program
 * gives each range a name of its own. */
#include "shim/libraries/nvtx_names.h"

#include "shim/libraries/library_calls.h"
#include "shim/state/registry.h"
#include "tests/support/check.h"

static struct shim_thread thread;

void *resolve_find(enum ws_function_id id)
{
    (void)id;
    return NULL;
}

void *resolve_version(enum ws_function_id id, const char *version)
{
    (void)id;
    (void)version;
    return NULL;
}

static int begin(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    return 0;
}

static const char *text_of(struct range_label name)
{
    assert_int_not_equal(name.label, 0);
    return ((const struct ws_label *)registry_row(&registry.label, name.label))->text.data;
}

static void a_domain_stands_before_its_names(void **state)
{
    (void)state;
    ws_nvtxDomain domain = nvtx_domain("library");
    uint32_t number = nvtx_domain_number(domain);
    assert_non_null(domain);
    assert_ptr_equal(nvtx_domain("library"), domain);
    assert_ptr_not_equal(nvtx_domain("librar"), domain);
    assert_string_equal(text_of(nvtx_name_of_text(&thread, number, "work")), "library:work");
    assert_string_equal(text_of(nvtx_name_of_text(&thread, 0, "work")), "work");
    assert_string_equal(text_of(nvtx_name_of_string(nvtx_string(domain, "work"))), "library:work");
    assert_string_equal(text_of(nvtx_name_of_string(nvtx_string(NULL, "work"))), "work");
    assert_ptr_equal(nvtx_string(domain, "work"), nvtx_string(domain, "work"));
    struct range_label step = nvtx_name_of_text(&thread, number, "step 12");
    assert_string_equal(text_of(step), "library:step");
    assert_int_equal(step.number, 12);
    assert_int_equal(nvtx_name_of_text(&thread, number, "step 13").label, step.label);
    struct range_label plain = nvtx_name_of_text(&thread, number, "step");
    assert_int_equal(plain.label, step.label);
    assert_int_equal(plain.number, 0);
}

static void operators_are_known_again(void **state)
{
    (void)state;
    struct range_label first = nvtx_name_of_text(&thread, 0, "aten::mm, seq = 1, op_id = 2");
    assert_int_equal(first.kind, WS_RANGE_OPERATOR);
    assert_string_equal(text_of(first), "aten::mm");
    struct range_label plain = nvtx_name_of_text(&thread, 0, "aten::mm");
    assert_int_equal(plain.kind, WS_RANGE_ANNOTATION);
    struct range_label second = nvtx_name_of_text(&thread, 0, "aten::mm, seq = 3, op_id = 4");
    assert_int_equal(second.kind, WS_RANGE_OPERATOR);
    assert_int_equal(second.label, first.label);
}

static void wrong_handles_do_no_harm(void **state)
{
    (void)state;
    static const uintptr_t wrong[] = { 0, 1000, 1u << 31, UINTPTR_MAX };
    ws_nvtxDomain domain = nvtx_domain("library");
    ws_nvtxString string = nvtx_string(domain, "text");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(nvtx_domain_number((ws_nvtxDomain)wrong[i]), 0);
        assert_int_equal(nvtx_name_of_string((ws_nvtxString)wrong[i]).label, 0);
    }
    assert_int_equal(nvtx_domain_number((ws_nvtxDomain)string), 0);
    assert_int_equal(nvtx_name_of_string((ws_nvtxString)domain).label, 0);
    assert_null(nvtx_domain(NULL));
    assert_null(nvtx_string(domain, NULL));
    assert_int_equal(nvtx_name_of_text(&thread, 0, NULL).label, 0);
    assert_int_equal(nvtx_name_of_text(&thread, 0, "").label, 0);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[4 * NVTX_TEXT];
    wchar_t wide[NVTX_TEXT];
    char narrow[NVTX_TEXT];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    for (int i = 0; i < NVTX_TEXT; i++)
        wide[i] = i < NVTX_TEXT - 1 ? 0x20ac : 0;
    assert_int_equal(strlen(text_of(nvtx_name_of_text(&thread, 0, text))), NVTX_TEXT - 1);
    assert_int_equal(strlen(text_of(nvtx_name_of_string(nvtx_string(NULL, text)))), NVTX_TEXT - 1);
    assert_int_equal(strlen(nvtx_narrow(narrow, wide)) % 3, 0);
    assert_string_equal(nvtx_narrow(narrow, L"a\x00e9\x20ac\x1f600\x7fffffff"), "aé€😀?");
    assert_null(nvtx_narrow(narrow, NULL));
}

static struct range_label unique(unsigned number)
{
    char text[32];
    snprintf(text, sizeof(text), "loss 0.%u of 7", number);
    return nvtx_name_of_text(&thread, 0, text);
}

/* A program may give each range a new number in its name. Before such names fill the dictionary of labels, "#"
 * replaces their numbers. */
static void names_do_not_fill_the_dictionary(void **state)
{
    (void)state;
    for (unsigned i = 0; i < registry.label.limit; i++)
        assert_int_not_equal(unique(i).label, 0);
    uint32_t count = atomic_load(&registry.label.count);
    assert_true(count > registry.label.limit / 2 && count < registry.label.limit / 2 + 4);
    assert_string_equal(text_of(unique(registry.label.limit)), "loss #.# of #");
    for (unsigned i = 0; i < registry.label.limit; i++) {
        char text[32];
        snprintf(text, sizeof(text), "%c%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26,
                 'a' + i / 17576);
        nvtx_name_of_text(&thread, 0, text);
    }
    count = atomic_load(&registry.label.count);
    assert_true(count <= registry.label.limit / 4 * 3 + 1);
    assert_int_equal(nvtx_name_of_text(&thread, 0, "one more").label, 0);
    assert_int_not_equal(library_label("of a library"), 0);
}

static void strings_are_bounded(void **state)
{
    (void)state;
    char text[32];
    unsigned fit = 0;
    for (unsigned i = 0; i < 1u << 16; i++) {
        snprintf(text, sizeof(text), "string %u", i);
        fit += nvtx_string(NULL, text) != NULL;
    }
    assert_in_range(fit, 16000, 16384);
    assert_non_null(nvtx_string(NULL, "string 7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_domain_stands_before_its_names, begin),
        cmocka_unit_test(operators_are_known_again),
        cmocka_unit_test(wrong_handles_do_no_harm),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(names_do_not_fill_the_dictionary),
        cmocka_unit_test(strings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
