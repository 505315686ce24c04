#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_function
    *gone; /* functions of unloaded modules whose memory new functions reuse; only with SIMGPU_HANDLES_AGAIN */
static pthread_mutex_t gone_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sim_function *new_function(void)
{
    pthread_mutex_lock(&gone_lock);
    struct sim_function *function = gone;
    if (function) {
        gone = function->next;
        free(function->parameters);
        memset(function, 0, sizeof(*function));
    }
    pthread_mutex_unlock(&gone_lock);
    return function ? function : sim_keep(sizeof(*function));
}

static void give_back(struct sim_function *functions)
{
    pthread_mutex_lock(&gone_lock);
    while (functions) {
        struct sim_function *next = functions->next;
        functions->next = gone;
        gone = functions;
        functions = next;
    }
    pthread_mutex_unlock(&gone_lock);
}

struct sim_function *sim_module_add(struct sim_module *module, const char *name)
{
    struct sim_function *function = new_function();
    if (!function)
        return NULL;
    function->magic = module->library ? SIM_KERNEL : SIM_FUNCTION;
    function->name = sim_intern(name);
    function->kernel = sim_kernel_find(name);
    function->attributes[SIM_ATTRIBUTE_MAX_THREADS] = 1024;
    function->attributes[SIM_ATTRIBUTE_REGISTERS] = 32;
    function->attributes[SIM_ATTRIBUTE_PTX_VERSION] = 90;
    function->attributes[SIM_ATTRIBUTE_BINARY_VERSION] = 90;
    function->attributes[SIM_ATTRIBUTE_MAX_DYNAMIC_SHARED] = 48 << 10;
    if (module->library)
        function->library = module->library;
    else
        function->module = module;
    struct sim_function **link = &module->functions;
    while (*link)
        link = &(*link)->next;
    *link = function;
    module->function_count++;
    return function;
}

/* Adds a variable, or completes one that is already known: it may be declared in one part of a module and defined in
 * another. `initial` is copied (NULL: the variable begins as zeros). */
void sim_module_add_global(struct sim_module *module, const char *name, uint64_t bytes, const void *initial)
{
    const char *known = sim_intern(name);
    struct sim_global *global = module->globals;
    while (global && global->name != known)
        global = global->next;
    if (!global) {
        global = calloc(1, sizeof(*global));
        if (!global)
            return;
        global->name = known;
        global->bytes = bytes;
        global->next = module->globals;
        module->globals = global;
    }
    if (initial && !global->initial && global->bytes == bytes) {
        global->initial = malloc(bytes);
        if (global->initial)
            memcpy(global->initial, initial, bytes);
    }
}

static pthread_mutex_t globals_lock = PTHREAD_MUTEX_INITIALIZER; /* must be taken before memory_lock of memory.c */

/* Allocates a variable's memory at its first use. With globals_lock held. */
static ws_CUresult place_global(struct sim_global *global, struct sim_context *context)
{
    struct sim_range range = { .flags = 0 };
    ws_CUresult result = sim_memory_allocate(context, context->device, SIM_MEMORY_DEVICE, global->bytes, &range);
    if (result != WS_CUDA_SUCCESS)
        return result;
    if (global->initial)
        memcpy((void *)range.start, global->initial, global->bytes);
    else
        memset((void *)range.start, 0, global->bytes);
    global->address = range.start;
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_module_global(struct sim_module *module, const char *name, ws_CUdeviceptr *address, size_t *bytes)
{
    pthread_mutex_lock(&globals_lock);
    ws_CUresult result = WS_CUDA_SUCCESS;
    struct sim_global *global = module->globals;
    while (global && strcmp(global->name, name) != 0)
        global = global->next;
    if (module->magic != SIM_MODULE)
        result = WS_CUDA_ERROR_INVALID_HANDLE;
    else if (!global)
        result = WS_CUDA_ERROR_NOT_FOUND;
    else if (!global->address)
        result = place_global(global, module->context);
    if (result == WS_CUDA_SUCCESS && address)
        *address = global->address;
    if (result == WS_CUDA_SUCCESS && bytes)
        *bytes = global->bytes;
    pthread_mutex_unlock(&globals_lock);
    return result;
}

/* Frees a module, but not the memory of its functions, so that stale handles are recognised. With
 * SIMGPU_HANDLES_AGAIN, new functions reuse that memory and thus the handles, as may happen with the real driver. */
void sim_module_free(struct sim_module *module)
{
    pthread_mutex_lock(&globals_lock);
    module->magic = 0;
    for (struct sim_function *function = module->functions; function; function = function->next)
        function->magic = 0;
    if (sim_config.handles_again) {
        give_back(module->functions);
        module->functions = NULL;
    }
    while (module->globals) {
        struct sim_global *next = module->globals->next;
        if (module->globals->address)
            sim_memory_free(module->globals->address, SIM_MEMORY_DEVICE);
        free(module->globals->initial);
        free(module->globals);
        module->globals = next;
    }
    pthread_mutex_unlock(&globals_lock);
}

ws_CUresult sim_image_parse(const void *image, struct sim_module *into)
{
    static const unsigned char elf[4] = { 0x7f, 'E', 'L', 'F' };
    static const unsigned char fatbin[4] = { 0x50, 0xed, 0x55, 0xba };
    static const unsigned char wrapper[4] = { 0xb1, 0x43, 0x62, 0x46 };
    if (!image)
        return WS_CUDA_ERROR_INVALID_VALUE;
    if (memcmp(image, elf, 4) == 0)
        return sim_image_elf(image, into);
    if (memcmp(image, fatbin, 4) == 0)
        return sim_image_fatbin(image, into);
    if (memcmp(image, wrapper, 4) == 0) {
        const void *inside;
        memcpy(&inside, (const char *)image + 8, sizeof(inside));
        return sim_image_fatbin(inside, into);
    }
    const char *text = image;
    if (!strstr(text, ".version"))
        return WS_CUDA_ERROR_INVALID_IMAGE;
    return sim_image_ptx(text, strlen(text), into);
}

/* Reads a whole file into memory that the caller frees. Appends a 0 byte, which *size does not count. */
ws_CUresult sim_image_read_file(const char *path, void **image, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? WS_CUDA_ERROR_FILE_NOT_FOUND : WS_CUDA_ERROR_OPERATING_SYSTEM;
    ws_CUresult result = WS_CUDA_ERROR_OPERATING_SYSTEM;
    char *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        rewind(file);
        *size = end >= 0 ? (size_t)end : 0;
        bytes = end >= 0 ? malloc(*size + 1) : NULL;
        if (bytes && fread(bytes, 1, *size, file) == *size) {
            bytes[*size] = '\0';
            result = WS_CUDA_SUCCESS;
        }
    }
    fclose(file);
    if (result != WS_CUDA_SUCCESS) {
        free(bytes);
        bytes = NULL;
    }
    *image = bytes;
    return result;
}
