/* Libraries: images that belong to no context. Their kernels (CUkernel) can be launched directly. cuKernelGetFunction
 * gives the CUfunction that stands for a kernel in the current context. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

static ws_CUresult library_check(const struct sim_library *library)
{
    return library && library->magic == SIM_LIBRARY ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

static ws_CUresult kernel_check(const struct sim_function *kernel)
{
    return kernel && kernel->magic == SIM_KERNEL ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

static ws_CUresult load(struct sim_library **made, const void *image)
{
    NEED(made && image);
    struct sim_library *library = sim_keep(sizeof(*library));
    if (!library)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    library->magic = SIM_LIBRARY;
    library->image.library = library;
    ws_CUresult result = sim_image_parse(image, &library->image);
    if (result != WS_CUDA_SUCCESS) {
        library->magic = 0;
        return result;
    }
    *made = library;
    return WS_CUDA_SUCCESS;
}

API(cuLibraryLoadData,
    (struct sim_library * *library, const void *image, ws_CUenum *options, void **values, unsigned count,
     ws_CUenum *library_options, void **library_values, unsigned library_count),
    (library, image, options, values, count, library_options, library_values, library_count))
{
    NEED(!count || (options && values));
    NEED(!library_count || (library_options && library_values));
    return load(library, image);
}

API(cuLibraryLoadFromFile,
    (struct sim_library * *library, const char *path, ws_CUenum *options, void **values, unsigned count,
     ws_CUenum *library_options, void **library_values, unsigned library_count),
    (library, path, options, values, count, library_options, library_values, library_count))
{
    void *image;
    size_t bytes;
    NEED(path);
    NEED(!count || (options && values));
    NEED(!library_count || (library_options && library_values));
    TRY(sim_image_read_file(path, &image, &bytes));
    ws_CUresult result = load(library, image);
    free(image);
    return result;
}

API(cuLibraryUnload, (struct sim_library * library), (library))
{
    TRY(library_check(library));
    for (struct sim_module *module = library->modules; module; module = module->next)
        if (!module->context->destroyed && module->context_id == module->context->id) {
            sim_context_wait(module->context);
            sim_module_free(module);
        }
    sim_module_free(&library->image);
    library->magic = 0;
    return WS_CUDA_SUCCESS;
}

API(cuLibraryGetKernel, (struct sim_function * *kernel, struct sim_library *library, const char *name),
    (kernel, library, name))
{
    NEED(kernel && name);
    TRY(library_check(library));
    struct sim_function *found = library->image.functions;
    while (found && strcmp(found->name, name) != 0)
        found = found->next;
    *kernel = found;
    return found ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND;
}

API(cuLibraryGetKernelCount, (unsigned *count, struct sim_library *library), (count, library))
{
    NEED(count);
    TRY(library_check(library));
    *count = library->image.function_count;
    return WS_CUDA_SUCCESS;
}

API(cuLibraryEnumerateKernels, (struct sim_function * *kernels, unsigned count, struct sim_library *library),
    (kernels, count, library))
{
    NEED(kernels);
    TRY(library_check(library));
    struct sim_function *kernel = library->image.functions;
    for (unsigned i = 0; i < count; i++, kernel = kernel ? kernel->next : NULL)
        kernels[i] = kernel;
    return WS_CUDA_SUCCESS;
}

/* Gives the library's module in the current context. The first call for a context creates the module. */
static ws_CUresult module_here(struct sim_library *library, struct sim_module **module)
{
    struct sim_context *context;
    TRY(sim_current(&context));
    context = sim_whole(context);
    pthread_mutex_lock(&sim_lock);
    struct sim_module *found = library->modules;
    while (found && (found->context != context || found->context_id != context->id))
        found = found->next;
    if (!found && (found = sim_keep(sizeof(*found)))) {
        found->magic = SIM_MODULE;
        found->context = context;
        found->context_id = context->id;
        for (struct sim_function *kernel = library->image.functions; kernel; kernel = kernel->next) {
            struct sim_function *function = sim_module_add(found, kernel->name);
            if (!function)
                continue;
            struct sim_function *next = function->next;
            *function = *kernel;
            function->magic = SIM_FUNCTION;
            function->library = NULL;
            function->module = found;
            function->next = next;
        }
        for (struct sim_global *global = library->image.globals; global; global = global->next)
            sim_module_add_global(found, global->name, global->bytes, global->initial);
        found->next = library->modules;
        library->modules = found;
    }
    pthread_mutex_unlock(&sim_lock);
    *module = found;
    return found ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuLibraryGetModule, (struct sim_module * *module, struct sim_library *library), (module, library))
{
    NEED(module);
    TRY(library_check(library));
    return module_here(library, module);
}

API(cuKernelGetFunction, (struct sim_function * *function, struct sim_function *kernel), (function, kernel))
{
    struct sim_module *module;
    NEED(function);
    TRY(kernel_check(kernel));
    TRY(module_here(kernel->library, &module));
    struct sim_function *found = module->functions;
    while (found && strcmp(found->name, kernel->name) != 0)
        found = found->next;
    *function = found;
    return found ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND;
}

API(cuKernelGetLibrary, (struct sim_library * *library, struct sim_function *kernel), (library, kernel))
{
    NEED(library);
    TRY(kernel_check(kernel));
    *library = kernel->library;
    return WS_CUDA_SUCCESS;
}

API(cuLibraryGetGlobal, (ws_CUdeviceptr * address, size_t *bytes, struct sim_library *library, const char *name),
    (address, bytes, library, name))
{
    struct sim_module *module;
    NEED(name && (address || bytes));
    TRY(library_check(library));
    TRY(module_here(library, &module));
    return sim_module_global(module, name, address, bytes);
}

API(cuKernelGetAttribute, (int *value, ws_CUenum attribute, struct sim_function *kernel, ws_CUdevice ordinal),
    (value, attribute, kernel, ordinal))
{
    NEED(value && attribute >= 0 && attribute < SIM_ATTRIBUTES);
    TRY(kernel_check(kernel));
    if (!sim_device_at(ordinal))
        return WS_CUDA_ERROR_INVALID_DEVICE;
    *value = kernel->attributes[attribute];
    return WS_CUDA_SUCCESS;
}

API(cuKernelSetAttribute, (ws_CUenum attribute, int value, struct sim_function *kernel, ws_CUdevice ordinal),
    (attribute, value, kernel, ordinal))
{
    NEED(attribute >= SIM_ATTRIBUTE_MAX_DYNAMIC_SHARED && attribute < SIM_ATTRIBUTES);
    TRY(kernel_check(kernel));
    if (!sim_device_at(ordinal))
        return WS_CUDA_ERROR_INVALID_DEVICE;
    kernel->attributes[attribute] = value;
    return WS_CUDA_SUCCESS;
}

API(cuKernelSetCacheConfig, (struct sim_function * kernel, ws_CUenum config, ws_CUdevice ordinal),
    (kernel, config, ordinal))
{
    NEED(config >= 0 && config <= 3);
    TRY(kernel_check(kernel));
    return sim_device_at(ordinal) ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_DEVICE;
}
