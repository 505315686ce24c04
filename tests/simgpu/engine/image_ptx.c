/* PTX text: its kernels (.entry) with the layout of their parameters, and its global variables. */
#include "engine/engine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *at, *end;
};

/* The next token: a word, or any other single character. Comments count as white space. False at the end. */
static bool next_token(struct text *text, const char **token, size_t *length)
{
    while (text->at < text->end) {
        if (isspace((unsigned char)*text->at)) {
            text->at++;
        } else if (text->end - text->at > 1 && text->at[0] == '/' && text->at[1] == '/') {
            while (text->at < text->end && *text->at != '\n')
                text->at++;
        } else if (text->end - text->at > 1 && text->at[0] == '/' && text->at[1] == '*') {
            text->at += 2;
            while (text->end - text->at > 1 && !(text->at[0] == '*' && text->at[1] == '/'))
                text->at++;
            text->at = text->end - text->at > 1 ? text->at + 2 : text->end;
        } else {
            break;
        }
    }
    if (text->at >= text->end)
        return false;
    const char *start = text->at++;
    if (isalnum((unsigned char)*start) || strchr("._$%", *start))
        while (text->at < text->end && (isalnum((unsigned char)*text->at) || strchr("_$.%", *text->at)))
            text->at++;
    *token = start;
    *length = (size_t)(text->at - start);
    return true;
}

static bool is(const char *token, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(token, word, length) == 0;
}

/* Bytes of a type: 8 for ".u64", 1 for ".b8"; 0 for a token that is not a type. */
static unsigned type_bytes(const char *token, size_t length)
{
    if (length < 3 || token[0] != '.' || !strchr("busf", token[1]))
        return 0;
    unsigned bits = (unsigned)strtoul(token + 2, NULL, 10);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits / 8 : 0;
}

struct declaration {
    char name[512];
    uint64_t bytes;
    unsigned alignment;
};

/* Reads the declaration after .param or .global: alignment, type, name, [length]. Returns the character at which the
 * declaration ended. */
static char read_declaration(struct text *text, struct declaration *declaration)
{
    const char *token;
    size_t length;
    unsigned element = 0;
    uint64_t count = 1;
    *declaration = (struct declaration){ .alignment = 0 };
    while (next_token(text, &token, &length)) {
        if (length == 1 && strchr(",);={", *token)) {
            declaration->bytes = element * count;
            if (!declaration->alignment)
                declaration->alignment = element ? element : 1;
            return *token;
        }
        if (is(token, length, ".align")) {
            if (next_token(text, &token, &length))
                declaration->alignment = (unsigned)strtoul(token, NULL, 10);
        } else if (is(token, length, ".ptr")) {
            /* The next tokens describe the memory that the pointer points to. They are skipped. */
            struct text ahead = *text;
            while (next_token(&ahead, &token, &length) && *token == '.') {
                *text = ahead;
                if (is(token, length, ".align") && next_token(&ahead, &token, &length))
                    *text = ahead;
            }
        } else if (*token == '[') {
            if (next_token(text, &token, &length) && isdigit((unsigned char)*token))
                count *= strtoull(token, NULL, 10);
        } else if (type_bytes(token, length)) {
            element = type_bytes(token, length);
        } else if (isalpha((unsigned char)*token) || strchr("_$%", *token)) {
            size_t kept = length < sizeof(declaration->name) ? length : sizeof(declaration->name) - 1;
            memcpy(declaration->name, token, kept);
            declaration->name[kept] = '\0';
        }
    }
    return '\0';
}

static bool add_parameter(struct sim_function *function, const struct declaration *declaration)
{
    struct sim_parameter *larger =
        realloc(function->parameters, (function->parameter_count + 1) * sizeof(*function->parameters));
    if (!larger)
        return false;
    function->parameters = larger;
    unsigned alignment = declaration->alignment ? declaration->alignment : 1;
    unsigned offset = (function->parameter_bytes + alignment - 1) / alignment * alignment;
    larger[function->parameter_count++] = (struct sim_parameter){ offset, (uint32_t)declaration->bytes };
    function->parameter_bytes = offset + (unsigned)declaration->bytes;
    return true;
}

static ws_CUresult read_entry(struct text *text, struct sim_module *into)
{
    const char *token;
    size_t length;
    if (!next_token(text, &token, &length))
        return WS_CUDA_ERROR_INVALID_PTX;
    char name[4096];
    if (length >= sizeof(name))
        return WS_CUDA_ERROR_INVALID_PTX;
    memcpy(name, token, length);
    name[length] = '\0';
    struct sim_function *function = sim_module_add(into, name);
    if (!function)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    function->layout_known = true;
    if (!next_token(text, &token, &length) || *token != '(')
        return WS_CUDA_SUCCESS;
    while (next_token(text, &token, &length) && *token != ')') {
        if (!is(token, length, ".param"))
            continue;
        struct declaration declaration;
        char end = read_declaration(text, &declaration);
        if (!end || !add_parameter(function, &declaration))
            return WS_CUDA_ERROR_INVALID_PTX;
        if (end == ')')
            break;
    }
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_image_ptx(const char *ptx, size_t bytes, struct sim_module *into)
{
    struct text text = { ptx, ptx + bytes };
    const char *token;
    size_t length;
    int nesting = 0;
    bool version = false;
    while (next_token(&text, &token, &length)) {
        if (*token == '{')
            nesting++;
        else if (*token == '}')
            nesting--;
        else if (is(token, length, ".version"))
            version = true;
        if (nesting)
            continue;
        if (is(token, length, ".entry")) {
            ws_CUresult result = read_entry(&text, into);
            if (result != WS_CUDA_SUCCESS)
                return result;
        } else if (is(token, length, ".global") || is(token, length, ".const")) {
            struct declaration declaration;
            char end = read_declaration(&text, &declaration);
            if (end && declaration.name[0] && declaration.bytes)
                sim_module_add_global(into, declaration.name, declaration.bytes, NULL);
            nesting += end == '{';
        }
    }
    return version ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_PTX;
}
