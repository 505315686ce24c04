/* Tests which labels cuBLAS and cuDNN calls get when the dictionary of labels is full. */
#include "shim/libraries/library_calls.h"
#include "shim/state/registry.h"
#include "tests/support/check.h"

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

static uint32_t numbered(unsigned number)
{
    char text[32];
    snprintf(text, sizeof(text), "float[%u,64]", number);
    return library_label(text);
}

static void a_full_dictionary_takes_no_more_text(void **state)
{
    unsigned fit = 0;
    (void)state;
    locks_open();
    registry_init();
    while (numbered(fit) == fit + 1)
        fit++;
    assert_true(fit == registry.label.limit);
    struct ws_pieces used = registry.text;
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(numbered(fit + i % 10), 0);
    assert_memory_equal(&registry.text, &used, sizeof(used));
    assert_int_equal(numbered(7), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_full_dictionary_takes_no_more_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
