/* Loaded device code: modules and libraries, with their kernels, parameters and variables. Implemented in module.c
 * and image_*.c. Only engine.h includes this header, after the types that it needs. */
#ifndef SIMGPU_MODULE_H
#define SIMGPU_MODULE_H

struct sim_parameter {
    uint32_t offset, size;
};
enum sim_attribute {
    SIM_ATTRIBUTE_MAX_THREADS = 0,
    SIM_ATTRIBUTE_SHARED_BYTES = 1,
    SIM_ATTRIBUTE_REGISTERS = 4,
    SIM_ATTRIBUTE_PTX_VERSION = 5,
    SIM_ATTRIBUTE_BINARY_VERSION = 6,
    SIM_ATTRIBUTE_MAX_DYNAMIC_SHARED = 8,
    SIM_ATTRIBUTES = 20,
};
struct sim_function {
    _Atomic enum sim_magic magic;
    const char *name;
    struct sim_module *module; /* NULL for a kernel of a library */
    struct sim_library *library;
    const struct sim_kernel *kernel;
    bool layout_known;
    unsigned parameter_count;
    struct sim_parameter *parameters;
    unsigned parameter_bytes;
    int attributes[SIM_ATTRIBUTES];
    struct sim_function *next;
};
struct sim_global {
    const char *name;
    uint64_t address, bytes;
    void *initial; /* bytes of the variable's initial value; NULL: all bytes are 0 */
    struct sim_global *next;
};
struct sim_module {
    _Atomic enum sim_magic magic;
    struct sim_context *context;
    struct sim_library *library;
    struct sim_function *functions;
    unsigned function_count;
    struct sim_global *globals;
    struct sim_module *next;
    /* id of the context when the module was loaded; a primary context that is reset keeps its handle but gets a new
     * id */
    uint64_t context_id;
};
struct sim_library {
    enum sim_magic magic;
    struct sim_module image;    /* holds the library's kernels as CUkernel handles, which belong to no context */
    struct sim_module *modules; /* list of modules, one for each context in which the library was used */
};
ws_CUresult sim_image_parse(const void *image, struct sim_module *into);
ws_CUresult sim_image_read_file(const char *path, void **image, size_t *bytes);
ws_CUresult sim_image_write(const struct sim_module *module, void **image, size_t *bytes);
ws_CUresult sim_image_ptx(const char *text, size_t length, struct sim_module *into);
ws_CUresult sim_image_elf(const unsigned char *image, struct sim_module *into);
ws_CUresult sim_image_fatbin(const unsigned char *image, struct sim_module *into);
struct sim_function *sim_module_add(struct sim_module *module, const char *name);
void sim_module_add_global(struct sim_module *module, const char *name, uint64_t bytes, const void *initial);
void sim_module_free(struct sim_module *module);
ws_CUresult sim_module_global(struct sim_module *module, const char *name, ws_CUdeviceptr *address, size_t *bytes);

#endif
