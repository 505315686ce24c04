/* Tests of reading decimal numbers as integers: exact, rounded half away from zero, and limited to the range of the
 * integer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "input/decimal.h"

static void check(const char *text, int shift, int64_t expected)
{
    int64_t value = -1;
    if (!ws_decimal(text, strlen(text), shift, &value))
        fail_msg("%s is no number", text);
    if (value != expected)
        fail_msg("%s: %lld, not %lld", text, (long long)value, (long long)expected);
}

static void refuse(const char *text)
{
    int64_t value;
    if (ws_decimal(text, strlen(text), 3, &value))
        fail_msg("%s is taken for %lld", text, (long long)value);
}

static void test_exact(void **state)
{
    (void)state;
    check("1712195495519689.047", 3, 1712195495519689047);
    check("1661203462598738", 3, 1661203462598738000);
    check("1.2344", 3, 1234);
    check("1.2345", 3, 1235);
    check("1.23449999", 3, 1234);
    check("-1.2345", 3, -1235);
    check("0.0005", 3, 1);
    check("0.0004999", 3, 0);
    check("0", 3, 0);
    check("-0", 3, 0);
    check("00012", 0, 12);
    check("7", 0, 7);
    check("7.", 0, 7);
    check(".5", 3, 500);
    check("1.5", 3, 1500);
    check("12.3456", 3, 12346);
    check("99999999999999999999", -3, 100000000000000000);
    check("7.5", 0, 8);
}

static void test_exponents(void **state)
{
    (void)state;
    check("1.5e3", 3, 1500000);
    check("1.712195495519689047E15", 3, 1712195495519689047);
    check("15e-1", 3, 1500);
    check("5e-4", 3, 1);
    check("4e-4", 3, 0);
    check("1e-999999999999", 3, 0);
    check("0e999999999999", 3, 0);
}

static void test_bounds(void **state)
{
    (void)state;
    check("2305843009213693952", 0, WS_DECIMAL_MOST);
    check("-2305843009213693952", 0, -WS_DECIMAL_MOST);
    check("2305843009213693.952", 3, WS_DECIMAL_MOST);
    refuse("2305843009213693.953");
    refuse("9999999999999999.999");
    refuse("9999999999999999999");
    refuse("99999999999999999999999999");
    refuse("1e19");
    refuse("1e999999999999");
}

static void test_no_numbers(void **state)
{
    (void)state;
    const char *const texts[] = { "",   "-",     ".",   "-.",       "e5",    "1e", "1e+",
                                  "1x", "1.2.3", "--1", "stream 7", "1e5e5", "nan" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        refuse(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_exponents),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
