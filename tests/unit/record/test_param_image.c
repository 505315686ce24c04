/* Tests of images of structures (a launch's arguments as text in the trace): encoding, decoding, and refusing damaged
 * images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/param_image.h"

static char text[WS_IMAGE_TEXT];
static uint64_t words[WS_IMAGE_WORDS];
static struct ws_param_image image;

static int decode(uint32_t length)
{
    struct ws_text column = { text, length };
    return ws_image_decode(&image, &column);
}

static void an_image_comes_back_as_it_was(void **state)
{
    static const struct {
        uint32_t first, count;
        uint64_t numbers; /* words are random numbers below `numbers`; if it is small, more words repeat */
    } images[] = { { 0, 1, 2 },
                   { 1, 3, 2 },
                   { 7, 9, 3 },
                   { 3, 131, 2 },
                   { 0, WS_IMAGE_WORDS, 1 },
                   { 0, WS_IMAGE_WORDS, UINT64_MAX } };
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        for (uint32_t word = 0; word < images[i].count; word++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            words[word] = (random >> 11) % images[i].numbers;
        }
        assert_int_equal(decode(ws_image_encode(text, words, images[i].first, images[i].count)), 0);
        assert_int_equal(image.first, images[i].first);
        assert_int_equal(image.count, images[i].count);
        assert_memory_equal(image.words + image.first, words, image.count * sizeof(words[0]));
    }
}

static void what_repeats_after_three_words_costs_a_bit(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 99; i++)
        words[i] = i % 3;
    assert_int_equal(ws_image_encode(text, words, 5, 99), 4 + 13 + 2 * 8);
}

static void an_image_that_cannot_be_is_refused(void **state)
{
    (void)state;
    words[0] = words[1] = 7;
    uint32_t length = ws_image_encode(text, words, 510, 2);
    assert_int_equal(decode(length), 0);
    assert_int_equal(decode(0), 0);
    assert_int_equal(image.count, 0);
    for (uint32_t shorter = 1; shorter < length; shorter++)
        assert_int_not_equal(decode(shorter), 0);
    assert_int_not_equal(decode(length + 1), 0);
    text[2] = 3; /* the last word would lie outside of the parameter block */
    assert_int_not_equal(decode(length), 0);
    assert_int_equal(image.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_comes_back_as_it_was),
        cmocka_unit_test(what_repeats_after_three_words_costs_a_bit),
        cmocka_unit_test(an_image_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
