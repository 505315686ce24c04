#include "analysis/kernels/label.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbols/demangle.h"

enum { DEMANGLED = 8192 };

/* An identifier inside a kernel's name. */
struct word {
    const char *start;
    size_t length;
};

static bool label_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* In a mangled name, the digits before an identifier are its length. Returns false for other digits: "Li128E" is a
 * literal, "S12_" a substitution, "E10_" the number of a lambda. */
static bool is_length(const char *digits, const char *end)
{
    if (islower((unsigned char)digits[-1]) && digits[-2] == 'L')
        return false;
    return !(*end == '_' && strchr("STE", digits[-1]));
}

/* Finds the next identifier of a mangled name. Before the first call, *at must point to the character after the
 * name's "_Z". In a mangled name, the length of each identifier comes before the identifier. */
static bool next_mangled(const char **at, struct word *word)
{
    while (**at) {
        const char *digits = *at;
        size_t length = 0;
        while (isdigit((unsigned char)**at) && length < 10000)
            length = length * 10 + (size_t)(*(*at)++ - '0');
        if (*at == digits) {
            ++*at;
            continue;
        }
        if (length && is_length(digits, *at) && strnlen(*at, length) == length && label_is_word(**at)) {
            *word = (struct word){ *at, length };
            *at += length;
            return true;
        }
    }
    return false;
}

static bool next_plain(const char **at, struct word *word)
{
    while (**at && !label_is_word(**at))
        ++*at;
    word->start = *at;
    while (label_is_word(**at))
        ++*at;
    word->length = (size_t)(*at - word->start);
    return word->length;
}

static bool label_next_word(const char **at, bool mangled, struct word *word)
{
    return mangled ? next_mangled(at, word) : next_plain(at, word);
}

static bool holds(struct word word, const char *part)
{
    return memmem(word.start, word.length, part, strlen(part)) != NULL;
}

/* Is the word the name of a wrapper or an adaptor of TensorIterator? The name of a wrapper does not tell the
 * computation. The name of the functor inside the wrapper tells it. */
static bool says_nothing(struct word word)
{
    static const char *const empty[] = { "elementwise_kernel", "gpu_kernel",      "cu_kernel", "UnaryFunctor",
                                         "BinaryFunctor",      "binary_internal", "opmath",    "func_wrapper",
                                         "reduce_kernel" };
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        if (holds(word, empty[i]))
            return true;
    return holds(word, "GLOBAL__N_");
}

static bool is_functor(struct word word)
{
    static const char *const marks[] = { "Functor", "functor", "_kernel", "KernelImpl", "Ops", "launch_clamp" };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (holds(word, marks[i]))
            return !says_nothing(word);
    return false;
}

/* Finds the functor in the name of a kernel of PyTorch's TensorIterator. */
static bool find_functor(const char *name, bool mangled, struct word *found)
{
    while (label_next_word(&name, mangled, found))
        if (is_functor(*found))
            return true;
    return false;
}

static bool begins_arguments(const char *text)
{
    return (*text == '<' && strncmp(text, "<unnamed>", 9) != 0) ||
           (*text == '(' && strncmp(text, "(anonymous", 10) != 0);
}

/* Finds the kernel's own name: the last identifier before the template arguments or parameters. */
static bool find_function(const char *name, bool mangled, struct word *found)
{
    struct word word;
    *found = (struct word){ 0 };
    while (label_next_word(&name, mangled, &word)) {
        *found = word;
        if (mangled ? strchr("IEPvi", *name) != NULL : begins_arguments(name))
            break;
    }
    return found->length;
}

/* Removes prefixes and suffixes that only say "CUDA kernel". */
static struct word trim(struct word word)
{
    static const char *const before[] = { "CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_", "launch_" };
    static const char *const after[] = {
        "_kernel_cuda", "_cuda_kernel",  "CUDAKernelImpl", "_kernel_impl", "KernelImpl", "CUDAKernel", "_kernel",
        "Kernel",       "ScalarFunctor", "Functor",        "Ops",          "_functor",   "_cuda"
    };
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t length = strlen(before[i]);
        if (word.length > length && !strncmp(word.start, before[i], length))
            word = (struct word){ word.start + length, word.length - length };
    }
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
        size_t length = strlen(after[i]);
        if (word.length > length && !strncmp(word.start + word.length - length, after[i], length))
            word.length -= length;
    }
    return word;
}

/* The parts of a kernel's name. */
struct parts {
    const char *inside; /* a mangled name without its "_Z"; a plain name without its return type, if that is
                           std::enable_if<…>::type */
    bool mangled, iterator;
    struct word function, functor; /* length 0: the name has no function, or no functor */
};

static struct parts label_take_apart(const char *name)
{
    const char *condition = !strncmp(name, "std::enable_if<", 15) ? strstr(name, "::type ") : NULL;
    struct parts parts = { .mangled = name[0] == '_' && name[1] == 'Z' };
    parts.inside = parts.mangled ? name + 2 : condition ? condition + 7 : name;
    parts.iterator = strstr(name, "elementwise_kernel") || strstr(name, "reduce_kernel");
    if (!find_function(parts.inside, parts.mangled, &parts.function))
        parts.function = (struct word){ name, strlen(name) };
    if (!parts.iterator || !find_functor(parts.inside, parts.mangled, &parts.functor))
        parts.functor.length = 0;
    return parts;
}

static int shown_length(struct word word)
{
    return word.length < 10000 ? (int)word.length : 10000;
}

void ws_kernel_label(char *text, size_t capacity, const char *name)
{
    char plain[DEMANGLED];
    struct parts parts = label_take_apart(ws_demangle(plain, sizeof(plain), name) ? plain : name);
    struct word word = trim(parts.functor.length ? parts.functor : parts.function);
    snprintf(text, capacity, "%.*s", shown_length(word), word.start);
    if (parts.iterator && text[0] && !strchr(text, '_'))
        text[0] = (char)tolower((unsigned char)text[0]);
}

/* Returns the length of the function's name together with its template arguments. */
static size_t with_arguments(struct word function)
{
    const char *at = function.start + function.length;
    size_t depth = 0;
    if (*at != '<')
        return function.length;
    do {
        depth += *at == '<';
        depth -= *at == '>' && at[-1] != '-';
    } while (*at++ && depth);
    return depth ? strlen(function.start) : (size_t)(at - function.start);
}

void ws_kernel_title(char *text, size_t capacity, const char *name)
{
    char plain[DEMANGLED];
    if (ws_demangle(plain, sizeof(plain), name))
        name = plain;
    struct parts parts = label_take_apart(name);
    struct word function = parts.function, wrapper = trim(function);
    if (parts.functor.length && parts.functor.start != function.start) {
        char label[128];
        ws_kernel_label(label, sizeof(label), name);
        snprintf(text, capacity, "%s (%.*s)", label, shown_length(wrapper), wrapper.start);
        return;
    }
    char after = function.start[function.length];
    if (parts.mangled || (after != '<' && after != '('))
        function = (struct word){ name, strlen(name) };
    else
        function.length = with_arguments(function);
    snprintf(text, capacity, "%.*s", shown_length(function), function.start);
}

void ws_kernel_shown(char *text, size_t capacity, const char *name, bool wide)
{
    if (!wide)
        ws_kernel_title(text, capacity, name);
    else if (!ws_demangle(text, capacity, name))
        snprintf(text, capacity, "%s", name);
}

void ws_table_name(struct ws_table *table, const char *name)
{
    char title[DEMANGLED]; /* large enough for the whole name, because long names may differ only near their ends */
    ws_kernel_shown(title, sizeof(title), name, table->page->wide);
    ws_table_cell(table, "%s", title);
}

void ws_table_thread(struct ws_table *table, const struct ws_process *process, uint32_t id)
{
    const struct ws_thread *thread = ws_entries_find(&process->threads, id);
    if (thread && thread->name.length)
        ws_table_cell(table, "%s (%u)", thread->name.data, thread->tid);
    else if (thread)
        ws_table_cell(table, "%u", thread->tid);
    else
        ws_table_cell(table, "?");
}
