#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_function *gone; /* where handles come again: functions whose modules are */
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

void sim_module_add_global(struct sim_module *module, const char *name, uint64_t bytes)
{
    struct sim_global *global = calloc(1, sizeof(*global));
    if (!global)
        return;
    global->name = sim_intern(name);
    global->bytes = bytes;
    global->next = module->globals;
    module->globals = global;
}

/* Handles stay recognisable as stale, so functions keep their memory, unless handles are to come again as the
 * driver's do. */
void sim_module_free(struct sim_module *module)
{
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
        free(module->globals);
        module->globals = next;
    }
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

/* The whole file with a 0 after it. The caller frees it. */
ws_CUresult sim_image_read_file(const char *path, void **image)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? WS_CUDA_ERROR_FILE_NOT_FOUND : WS_CUDA_ERROR_OPERATING_SYSTEM;
    ws_CUresult result = WS_CUDA_ERROR_OPERATING_SYSTEM;
    char *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
        if (bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size) {
            bytes[size] = '\0';
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
