/* Shared by the ABI tests: templates that compare our declaration of a function with the toolkit's, parameter by
 * parameter. This file is in C++17, because only templates can decompose a function type. */
#ifndef WALLSHIM_TESTS_ABI_H
#define WALLSHIM_TESTS_ABI_H

#include <cstddef>
#include <cstdio>
#include <type_traits>

static int checks, failures;

#define EXPECT(condition, ...)                   \
    do {                                         \
        checks++;                                \
        if (!(condition)) {                      \
            failures++;                          \
            std::printf("FAILED: " __VA_ARGS__); \
            std::printf("\n");                   \
        }                                        \
    } while (0)

enum kind { INTEGER, FLOATING, POINTER, STRUCTURE, NOTHING };
static const char *const kind_names[] = { "integer", "floating", "pointer", "structure", "nothing" };

/* The kind of a type, which decides in which registers a value of it is passed. */
template <class T> constexpr kind kind_of()
{
    if (std::is_void_v<T>)
        return NOTHING;
    if (std::is_integral_v<T> || std::is_enum_v<T>)
        return INTEGER;
    if (std::is_floating_point_v<T>)
        return FLOATING;
    return std::is_pointer_v<T> ? POINTER : STRUCTURE;
}

/* Bytes of T; 0 for types without a known size: void, functions, and structures that are only declared. */
template <class T, class = void> struct bytes_of {
    static constexpr std::size_t value = 0;
};
template <class T>
struct bytes_of<T, std::enable_if_t<!std::is_void_v<T> && !std::is_function_v<T>, decltype(void(sizeof(T)))>> {
    static constexpr std::size_t value = sizeof(T);
};

template <class Ours, class Theirs> void same_value(const char *function, int position)
{
    constexpr kind ours = kind_of<Ours>(), theirs = kind_of<Theirs>();
    EXPECT(ours == theirs, "%s: parameter %d is a %s, should be a %s", function, position, kind_names[ours],
           kind_names[theirs]);
    EXPECT(bytes_of<Ours>::value == bytes_of<Theirs>::value, "%s: parameter %d has %zu bytes, should have %zu",
           function, position, bytes_of<Ours>::value, bytes_of<Theirs>::value);
    if constexpr (ours == POINTER && theirs == POINTER) {
        constexpr std::size_t to_ours = bytes_of<std::remove_pointer_t<Ours>>::value;
        constexpr std::size_t to_theirs = bytes_of<std::remove_pointer_t<Theirs>>::value;
        EXPECT(!to_ours || !to_theirs || to_ours == to_theirs,
               "%s: parameter %d points to %zu bytes, should point to %zu", function, position, to_ours, to_theirs);
    }
}

template <class Ours, class Theirs> struct comparison;
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct comparison<OurResult(Ours...), TheirResult(Theirs...)> {
    /* noinline: with sanitizers, GCC runs out of stack if it inlines hundreds of these functions into one. */
    [[gnu::noinline]] static void run(const char *function)
    {
        EXPECT(sizeof...(Ours) == sizeof...(Theirs), "%s: %zu parameters, should be %zu", function, sizeof...(Ours),
               sizeof...(Theirs));
        same_value<OurResult, TheirResult>(function, 0);
        if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
            int position = 0;
            (same_value<Ours, Theirs>(function, ++position), ...);
        }
    }
};

static inline int summary(const char *what)
{
    std::printf("%s: %d checks, %d failed\n", what, checks, failures);
    return failures ? 1 : 0;
}

#endif
