#include "analysis/cost/chain_kernel.h"
#include "analysis/kernels/classify.h"
#include "base/minmax.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Is the name one that a fusing compiler generates? */
static bool is_fused_already(const char *name)
{
    static const char *const begins[] = { "triton_", "fusion", "loop_", "input_", "wrapped_" };
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    return strstr(name, "nvfuser") || strstr(name, "_fusion");
}

enum ws_chain_role ws_chain_role(const struct ws_op_name *name, enum ws_kernel_class kernel_class)
{
    if (name->kind == WS_OP_MEMSET)
        return WS_CHAIN_PASSES;
    if (name->kind != WS_OP_KERNEL || is_fused_already(name->text))
        return WS_CHAIN_ENDS;
    bool iterator = strstr(name->text, "elementwise_kernel") != NULL;
    switch (kernel_class) {
    case WS_CLASS_POINTWISE:
    case WS_CLASS_REDUCTION:
    case WS_CLASS_NORM:
    case WS_CLASS_SOFTMAX:
        return WS_CHAIN_BELONGS;
    case WS_CLASS_COPY: /* casts, layout changes and fills */
        if (strstr(name->text, "FillFunctor"))
            return WS_CHAIN_PASSES;
        return iterator ? WS_CHAIN_BELONGS : WS_CHAIN_ENDS;
    case WS_CLASS_RNG: /* dropout */
        return iterator ? WS_CHAIN_BELONGS : WS_CHAIN_ENDS;
    default:
        return WS_CHAIN_ENDS;
    }
}

/* The next number in text. It must begin within `within` characters. *end is set to the end of the number, or to
 * NULL if there is none. */
static uint32_t number_after(const char *text, size_t within, const char **end)
{
    uint32_t number = 0;
    for (; within && *text && !isdigit((unsigned char)*text); within--)
        text++;
    *end = within && *text ? text : NULL;
    for (; *end && isdigit((unsigned char)*text) && number < 100000; *end = text)
        number = number * 10 + (uint32_t)(*text++ - '0');
    return number;
}

/* The N of std::array<char*, N>: "array<char*, 3ul>", "Array<char *, (int)3>", "arrayIPcLm3E". */
static uint32_t operands_of(const char *name)
{
    static const char *const marks[] = { "rray<char*,", "rray<char *,", "rrayIPcL" };
    const char *end;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *at = strstr(name, marks[i]);
        uint32_t number = at ? number_after(at + strlen(marks[i]), sizeof(" (unsigned long)"), &end) : 0;
        if (number)
            return number <= WS_OPERANDS_MOST ? number : 0;
    }
    return 0;
}

/* Finds the element size by the type's spelling. Narrow types are tested before float, because kernels that
 * compute narrow types in float have both in their names. In mangled names the character before a type's letter
 * decides: it begins a lambda's parameters or a template's arguments. */
static uint32_t element_bytes_of(const char *name)
{
    static const struct {
        const char *mark;
        uint32_t bytes;
    } types[] = {
        { "Float8_", 1 },        { "BFloat16", 2 },     { "c10::Half", 2 },     { "c104Half", 2 },
        { "__half", 2 },         { "bfloat16", 2 },     { "lambda(double", 8 }, { "UldE", 8 },
        { "UlddE", 8 },          { "lambda(float", 4 }, { "UlfE", 4 },          { "UlffE", 4 },
        { "lambda(long", 8 },    { "UllE", 8 },         { "lambda(int", 4 },    { "UliE", 4 },
        { "lambda(bool", 1 },    { "UlbE", 1 },         { "Functor<float", 4 }, { "FunctorIf", 4 },
        { "Functor<double", 8 }, { "FunctorId", 8 },    { "Functor<long", 8 },  { "FunctorIl", 8 },
        { "Functor<int", 4 },    { "FunctorIi", 4 },    { "Functor<bool", 1 },  { "FunctorIb", 1 },
        { "_add<float>", 4 },    { "_addIfE", 4 },
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strstr(name, types[i].mark))
            return types[i].bytes;
    return 0;
}

struct ws_iterator ws_iterator_of(const char *name)
{
    struct ws_iterator iterator = { .operands = operands_of(name), .element_bytes = element_bytes_of(name) };
    const char *at = strstr(name, "elementwise_kernel"), *end;
    if (!at)
        return (struct ws_iterator){ 0 };
    bool vectorized = at - name >= 11 && !strncmp(at - 11, "vectorized_", 11);
    bool unrolled = at - name >= 9 && !strncmp(at - 9, "unrolled_", 9);
    at += strlen("elementwise_kernel");
    if (!strncmp(at, "_manual_unroll", 14))
        at += 14;
    uint32_t number = number_after(at, 8, &end);
    if (vectorized) /* the width of a vector; a thread works on at least 4 elements */
        iterator.per_thread = number > 4 && number <= 16 ? number : 4;
    else if (unrolled)
        iterator.per_thread = 4;
    else if (end) /* threads per block, then elements per thread */
        iterator.per_thread = number_after(end, 8, &end);
    if (iterator.per_thread > 64)
        iterator.per_thread = 0;
    return iterator;
}

uint64_t ws_iterator_bytes(const struct ws_iterator *iterator, const struct ws_shape *shape)
{
    uint64_t most = (uint64_t)1 << 40, blocks = shape->grid_x, threads = shape->block_x;
    if (shape->grid_y > 1 || shape->grid_z > 1 || threads > 1024)
        return 0;
    uint64_t bytes = blocks * threads * iterator->per_thread * iterator->element_bytes;
    return bytes <= most ? bytes : 0;
}

/* Do the first `operands` addresses lie one after another? Then they are TensorIterator's arrays, and the first
 * is the output. */
static bool arrays_are_first(const struct ws_param_word *words, uint32_t count, uint32_t operands)
{
    for (uint32_t i = 1; i < operands && i < count; i++)
        if (words[i].offset != words[0].offset + 8 * i)
            return false;
    return operands > 1 && count >= operands;
}

bool ws_operands_read(struct ws_operands *operands, const struct ws_process *process, uint32_t params,
                      const struct ws_iterator *iterator)
{
    const struct ws_params *row = params ? ws_entries_find(&process->params, params) : NULL;
    struct ws_param_word addresses[WS_OPERANDS_MOST], word;
    *operands = (struct ws_operands){ 0 };
    if (!row)
        return false;
    for (size_t at = 0; at + sizeof(word) <= row->words.length; at += sizeof(word)) {
        memcpy(&word, row->words.data + at, sizeof(word));
        if (word.address && word.value && operands->count < WS_OPERANDS_MOST) {
            addresses[operands->count] = word;
            operands->address[operands->count++] = word.value;
        } else if (!word.offset && word.size == 4 && iterator->operands && word.value <= INT32_MAX) {
            operands->elements = word.value; /* the first parameter of these kernels */
        }
    }
    if (arrays_are_first(addresses, operands->count, iterator->operands))
        operands->ordered = iterator->operands;
    operands->written = operands->ordered > 0;
    return true;
}

static bool reads(const struct ws_operands *operands, uint32_t place)
{
    return place >= operands->written && place < operands->ordered;
}

struct ws_chain_links ws_operands_link(const struct ws_operands *operands, uint32_t count)
{
    struct ws_chain_links links = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t between = ((uint32_t)1 << j) - ((uint32_t)1 << i);
            for (uint32_t a = 0; a < operands[i].count; a++) {
                for (uint32_t b = 0; b < operands[j].count; b++) {
                    if (operands[i].address[a] != operands[j].address[b])
                        continue;
                    links.shared |= between;
                    if (a < operands[i].written && reads(&operands[j], b))
                        links.ordered |= between;
                }
            }
        }
    }
    return links;
}

/* The index of the array with this address, among those that are read; WS_OPERANDS_MOST: none. */
static uint32_t read_at(const struct ws_operands *operands, uint64_t address)
{
    for (uint32_t a = operands->written; a < operands->ordered; a++)
        if (operands->address[a] == address)
            return a;
    return WS_OPERANDS_MOST;
}

static bool writes(const struct ws_operands *operands, uint64_t address)
{
    for (uint32_t a = 0; a < operands->written; a++)
        if (operands->address[a] == address)
            return true;
    return false;
}

static bool is_read_from(const struct ws_operands *operands, uint32_t from, uint32_t count, uint64_t address)
{
    for (uint32_t i = from; i < count; i++)
        if (read_at(&operands[i], address) < WS_OPERANDS_MOST)
            return true;
    return false;
}

static bool is_written_from(const struct ws_operands *operands, uint32_t from, uint32_t count, uint64_t address)
{
    for (uint32_t i = from; i < count; i++)
        if (writes(&operands[i], address))
            return true;
    return false;
}

/* Does the address occur in a kernel before `to`, or in kernel `to` before this array? */
static bool is_met_before(const struct ws_operands *operands, uint32_t to, uint32_t array, uint64_t address)
{
    return is_read_from(operands, 0, to, address) || is_written_from(operands, 0, to, address) ||
           read_at(&operands[to], address) < array;
}

double ws_operands_again(const struct ws_operands *operands, uint32_t count, uint32_t place)
{
    const struct ws_operands *writer = &operands[place];
    double again = 0;
    for (uint32_t a = 0; a < writer->written; a++) {
        for (uint32_t i = place + 1; i < count; i++) {
            uint32_t b = read_at(&operands[i], writer->address[a]);
            if (b < WS_OPERANDS_MOST) {
                double written = writer->bytes[a], read = operands[i].bytes[b];
                if (!written || !read)
                    return -1;
                again += 2 * ws_min(written, read);
                break;
            }
            if (!operands[i].ordered)
                return -1;
            if (writes(&operands[i], writer->address[a]))
                break;
        }
    }
    return writer->written ? again : -1;
}

/* The share of a kernel's time that belongs to one array. */
static double weight_of(const struct ws_operands *operands, uint32_t array)
{
    double all = 0;
    for (uint32_t a = 0; a < operands->ordered; a++)
        all += operands->bytes[a];
    return all > 0 ? operands->bytes[array] / all : 1.0 / operands->ordered;
}

double ws_operands_fused(const struct ws_operands *operands, const int64_t *lengths, uint32_t count)
{
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!operands[i].ordered)
            return 0;
        for (uint32_t a = 0; a < operands[i].ordered; a++) {
            uint64_t address = operands[i].address[a];
            bool remains = a < operands[i].written ? !is_read_from(operands, i + 1, count, address) &&
                                                         !is_written_from(operands, i + 1, count, address)
                                                   : !is_met_before(operands, i, a, address);
            if (remains)
                total += (double)lengths[i] * weight_of(&operands[i], a);
        }
    }
    return total;
}
