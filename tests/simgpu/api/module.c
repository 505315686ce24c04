#include "api/api.h"

#include <stdlib.h>
#include <string.h>

static ws_CUresult load(struct sim_module **made, const void *image)
{
    struct sim_context *context;
    NEED(made && image);
    TRY(sim_current(&context));
    TRY(sim_capture_unsafe());
    struct sim_module *module = sim_keep(sizeof(*module));
    if (!module)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    module->magic = SIM_MODULE;
    module->context = context;
    ws_CUresult result = sim_image_parse(image, module);
    if (result != WS_CUDA_SUCCESS) {
        sim_module_free(module);
        return result;
    }
    pthread_mutex_lock(&sim_lock);
    bool gone = context->destroyed;
    if (!gone) {
        module->next = context->modules;
        context->modules = module;
    }
    pthread_mutex_unlock(&sim_lock);
    if (gone) {
        sim_module_free(module);
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    sim_pay(sim_config.module_ns);
    *made = module;
    return WS_CUDA_SUCCESS;
}

API(cuModuleLoadData, (struct sim_module * *module, const void *image), (module, image))
{
    return load(module, image);
}

API_SAME(cuModuleLoadFatBinary, cuModuleLoadData, (struct sim_module * *module, const void *image), (module, image))

API(cuModuleLoadDataEx,
    (struct sim_module * *module, const void *image, unsigned count, ws_CUenum *options, void **values),
    (module, image, count, options, values))
{
    NEED(!count || (options && values));
    return load(module, image);
}

API(cuModuleLoad, (struct sim_module * *module, const char *path), (module, path))
{
    void *image;
    size_t bytes;
    NEED(module && path);
    TRY(sim_image_read_file(path, &image, &bytes));
    ws_CUresult result = load(module, image);
    free(image);
    return result;
}

static ws_CUresult module_check(const struct sim_module *module)
{
    return module && module->magic == SIM_MODULE ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

API(cuModuleUnload, (struct sim_module * module), (module))
{
    TRY(module_check(module));
    TRY(sim_capture_unsafe());
    TRY(sim_context_wait(module->context));
    pthread_mutex_lock(&sim_lock);
    struct sim_module **link = &module->context->modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (*link)
        *link = module->next;
    pthread_mutex_unlock(&sim_lock);
    sim_module_free(module);
    return WS_CUDA_SUCCESS;
}

static struct sim_function *function_named(struct sim_function *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

API(cuModuleGetFunction, (struct sim_function * *function, struct sim_module *module, const char *name),
    (function, module, name))
{
    NEED(function && name);
    TRY(module_check(module));
    *function = function_named(module->functions, name);
    return *function ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND;
}

API(cuModuleGetFunctionCount, (unsigned *count, struct sim_module *module), (count, module))
{
    NEED(count);
    TRY(module_check(module));
    *count = module->function_count;
    return WS_CUDA_SUCCESS;
}

API(cuModuleEnumerateFunctions, (struct sim_function * *functions, unsigned count, struct sim_module *module),
    (functions, count, module))
{
    NEED(functions);
    TRY(module_check(module));
    struct sim_function *function = module->functions;
    for (unsigned i = 0; i < count; i++, function = function ? function->next : NULL)
        functions[i] = function;
    return WS_CUDA_SUCCESS;
}

API(cuModuleGetGlobal_v2, (ws_CUdeviceptr * address, size_t *bytes, struct sim_module *module, const char *name),
    (address, bytes, module, name))
{
    NEED(name && (address || bytes));
    TRY(module_check(module));
    return sim_module_global(module, name, address, bytes);
}

API(cuModuleGetLoadingMode, (ws_CUenum * mode), (mode))
{
    NEED(mode);
    *mode = 2; /* CU_MODULE_LAZY_LOADING */
    return WS_CUDA_SUCCESS;
}

static ws_CUresult function_check(const struct sim_function *function)
{
    bool known = function && (function->magic == SIM_FUNCTION || function->magic == SIM_KERNEL);
    return known ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

/* Checks a handle for calls other than launches and occupancy queries. Only in those two does the documentation allow
 * a CUkernel in place of a CUfunction. */
static ws_CUresult kind_check(const struct sim_function *function, enum sim_magic kind)
{
    if (function && function->magic == kind)
        return WS_CUDA_SUCCESS;
    if (function)
        sim_misused(kind == SIM_KERNEL ? "a handle that is no kernel" : "a handle that is no function");
    return WS_CUDA_ERROR_INVALID_HANDLE;
}

static ws_CUresult name_of(const char **name, const struct sim_function *function, enum sim_magic kind)
{
    NEED(name);
    TRY(kind_check(function, kind));
    *name = function->name;
    return WS_CUDA_SUCCESS;
}

API(cuFuncGetName, (const char **name, struct sim_function *function), (name, function))
{
    return name_of(name, function, SIM_FUNCTION);
}

API(cuKernelGetName, (const char **name, struct sim_function *function), (name, function))
{
    return name_of(name, function, SIM_KERNEL);
}

static ws_CUresult param_of(const struct sim_function *function, size_t index, size_t *offset, size_t *size,
                            enum sim_magic kind)
{
    NEED(offset);
    TRY(kind_check(function, kind));
    NEED(index < function->parameter_count);
    *offset = function->parameters[index].offset;
    if (size)
        *size = function->parameters[index].size;
    return WS_CUDA_SUCCESS;
}

API(cuFuncGetParamInfo, (struct sim_function * function, size_t index, size_t *offset, size_t *size),
    (function, index, offset, size))
{
    return param_of(function, index, offset, size, SIM_FUNCTION);
}

API(cuKernelGetParamInfo, (struct sim_function * function, size_t index, size_t *offset, size_t *size),
    (function, index, offset, size))
{
    return param_of(function, index, offset, size, SIM_KERNEL);
}

API(cuFuncGetModule, (struct sim_module * *module, struct sim_function *function), (module, function))
{
    NEED(module);
    TRY(function_check(function));
    if (!function->module)
        return WS_CUDA_ERROR_INVALID_HANDLE;
    *module = function->module;
    return WS_CUDA_SUCCESS;
}

API(cuFuncGetAttribute, (int *value, ws_CUenum attribute, struct sim_function *function),
    (value, attribute, function))
{
    NEED(value && attribute >= 0 && attribute < SIM_ATTRIBUTES);
    TRY(kind_check(function, SIM_FUNCTION));
    *value = function->attributes[attribute];
    return WS_CUDA_SUCCESS;
}

API(cuFuncSetAttribute, (struct sim_function * function, ws_CUenum attribute, int value),
    (function, attribute, value))
{
    NEED(attribute >= 8 && attribute < SIM_ATTRIBUTES);
    TRY(function_check(function));
    struct sim_context *context;
    TRY(sim_current(&context));
    NEED(attribute != SIM_ATTRIBUTE_MAX_DYNAMIC_SHARED ||
         (value >= 0 && value <= context->device->model->max_shared));
    function->attributes[attribute] = value;
    return WS_CUDA_SUCCESS;
}

API(cuFuncSetCacheConfig, (struct sim_function * function, ws_CUenum config), (function, config))
{
    NEED(config >= 0 && config <= 3);
    return function_check(function);
}

API(cuFuncSetSharedMemConfig, (struct sim_function * function, ws_CUenum config), (function, config))
{
    NEED(config >= 0 && config <= 2);
    return function_check(function);
}

API(cuFuncIsLoaded, (ws_CUenum * state, struct sim_function *function), (state, function))
{
    NEED(state);
    TRY(function_check(function));
    *state = 1;
    return WS_CUDA_SUCCESS;
}

API(cuFuncLoad, (struct sim_function * function), (function))
{
    return function_check(function);
}
