/* Calls functions of the CUDA toolkit's libraries that need no device: unpatched, patched, and through their
 * trampolines (copies of the instructions that the patches overwrite).
 *
 * test_shim_patch_calls FOLDER
 *
 * Skips libraries that FOLDER lacks. Exits with 77 if FOLDER has none of them. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shim/attach/patch.h"

/* what a function does: returns a text, returns a number, or writes a number to the address it gets */
enum result { TEXT, NUMBER, FILLED };

static const struct row {
    const char *library, *function;
    enum result result;
} rows[] = {
    { "libcudart.so.13", "cudaGetErrorName", TEXT },
    { "libcudart.so.13", "cudaGetErrorString", TEXT },
    { "libcudart.so.13", "cudaRuntimeGetVersion", FILLED },
    { "libcublasLt.so.13", "cublasLtGetVersion", NUMBER },
    { "libcublasLt.so.13", "cublasLtGetCudartVersion", NUMBER },
    { "libcublasLt.so.13", "cublasLtGetStatusName", TEXT },
    { "libcublas.so.13", "cublasGetStatusName", TEXT },
    { "libcublas.so.13", "cublasGetStatusString", TEXT },
    { "libcudnn.so.9", "cudnnGetVersion", NUMBER },
    { "libcudnn.so.9", "cudnnGetErrorString", TEXT },
    { "libnccl.so.2", "ncclGetVersion", FILLED },
    { "libnccl.so.2", "ncclGetErrorString", TEXT },
    { "libcupti.so.13", "cuptiGetVersion", FILLED },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), ARGUMENTS = 12 };

struct answers {
    uintptr_t returned[ARGUMENTS];
    char text[ARGUMENTS][80];
    unsigned filled[ARGUMENTS];
};

static struct patch patch;
static unsigned replaced;

static uintptr_t replacement(uintptr_t argument)
{
    replaced++;
    return ((uintptr_t(*)(uintptr_t))patch_trampoline(&patch))(argument);
}

static void ask(const struct row *row, void *function, struct answers *answers)
{
    memset(answers, 0, sizeof(*answers));
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        uintptr_t argument = row->result == FILLED ? (uintptr_t)&answers->filled[i] : i;
        answers->returned[i] = ((uintptr_t(*)(uintptr_t))function)(argument);
        if (row->result == TEXT)
            snprintf(answers->text[i], sizeof(answers->text[i]), "%s", (const char *)answers->returned[i]);
    }
}

static size_t size_of(void *function)
{
    Dl_info about;
    const ElfW(Sym) *symbol = NULL;
    return dladdr1(function, &about, (void **)&symbol, RTLD_DL_SYMENT) && symbol ? symbol->st_size : 0;
}

/* Compares the results of the function's calls. Returns NULL, or a text that says what is wrong. */
static const char *try_function(const struct row *row, void *function)
{
    struct answers before, patched, original, after;
    ask(row, function, &before);
    enum patch_refusal refusal = patch_prepare(&patch, function, size_of(function), (void *)replacement);
    refusal = refusal ? refusal : patch_apply(&patch);
    if (refusal)
        return patch_reason(refusal);
    replaced = 0;
    ask(row, function, &patched);
    unsigned by_replacement = replaced;
    ask(row, patch_trampoline(&patch), &original);
    if (patch_remove(&patch))
        return "not removed";
    ask(row, function, &after);
    if (by_replacement != ARGUMENTS || replaced != ARGUMENTS)
        return "the replacement was not called";
    if (memcmp(&before, &patched, sizeof(before)) || memcmp(&before, &original, sizeof(before)) ||
        memcmp(&before, &after, sizeof(before)))
        return "other results";
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned tried = 0, failed = 0;
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW);
    if (argc < 2 || !zydis || patch_decoder_take(zydis, dlsym))
        return 77;
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", argv[1], row->library);
        void *library = dlopen(path, RTLD_NOW), *function = library ? dlsym(library, row->function) : NULL;
        if (!function) {
            printf("%s: not there\n", row->function);
            continue;
        }
        const char *wrong = try_function(row, function);
        printf("%s: %s\n", row->function, wrong ? wrong : "the same");
        tried++;
        failed += wrong != NULL;
    }
    return !tried ? 77 : failed != 0;
}
