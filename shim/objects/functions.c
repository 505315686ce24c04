#include "shim/objects/functions.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/chunks.h"
#include "base/hash.h"
#include "base/map.h"
#include "record/param_image.h"
#include "shim/hook/driver_calls.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

enum {
    MOST_PARAMS = 64, /* largest number of parameters of one kernel that the driver is asked about */
    MOST_KNOWN = 1 << 17,
    MOST_LAYOUTS_SIZE = 16 << 20,
    /* CUfunction_attribute of the toolkit's cuda.h */
    ATTRIBUTE_SHARED_BYTES = 1,
    ATTRIBUTE_REGISTERS = 4,
};

static const uint32_t NO_ROOM = UINT32_MAX; /* returned in place of a kernel's id if the dictionary is full */

/* What the shim knows about a handle of a kernel. */
struct known {
    const void *module;
    struct ws_text name; /* the name by which the program looked the kernel up; may be empty */
    bool is_kernel;      /* the handle is a CUkernel, not a CUfunction */
    bool has_no_room;    /* the kernel is not in the dictionary, because the dictionary was full */
    bool is_doubtful; /* since `id` was found, a context may have been destroyed, and the driver may have reused the
                         handle for another function */
    uint32_t id;      /* the kernel's dictionary id; 0: not looked up since the entry was made or became doubtful */
    const void *function; /* the handle; NULL: the handle was forgotten */
};

static struct ws_map handles; /* handle of a kernel → index of its entry in `known`, plus one */
static struct ws_map ids;     /* hash of a kernel's name, registers and parameters → its dictionary id */
static struct ws_chunks known = { .row_size = sizeof(struct known) };
static uint32_t known_count;
/* index: the kernel's dictionary id minus 1 */
static struct ws_chunks layouts = { .row_size = sizeof(const struct function_layout *) };
static struct ws_pieces layout_pieces;
static const struct function_layout no_layout;

static struct known *known_at(uint64_t index)
{
    return ws_chunks_row(&known, (uint32_t)index - 1);
}

/* Called with the registry's lock held. Finds or adds the handle's entry. Returns NULL if there is no room. */
static struct known *known_entry(const void *function)
{
    uint64_t *index = ws_map_put(&handles, (uintptr_t)function);
    if (!index)
        return NULL;
    if (!*index) {
        struct known *entry = known_count < MOST_KNOWN ? ws_chunks_make(&known, known_count) : NULL;
        if (!entry) {
            ws_map_remove(&handles, (uintptr_t)function);
            return NULL;
        }
        *entry = (struct known){ .function = function };
        *index = ++known_count;
    }
    return known_at(*index);
}

void function_named(const void *function, bool is_kernel, const void *module, const char *name)
{
    if (!registry_lock())
        return;
    struct known *entry = known_entry(function);
    if (entry && (!entry->name.length || entry->is_doubtful)) {
        if (!entry->name.length || strcmp(entry->name.data, name) != 0)
            entry->name = registry_text(name);
        entry->module = module;
        entry->is_kernel = is_kernel;
        entry->is_doubtful = false;
    }
    registry_unlock();
}

void function_same_as(const void *function, const void *kernel)
{
    if (!registry_lock())
        return;
    uint64_t *index = ws_map_get(&handles, (uintptr_t)kernel);
    if (index) {
        struct known of_kernel = *known_at(*index);
        struct known *entry = known_entry(function);
        if (entry && (!entry->name.length || entry->is_doubtful)) {
            entry->name = of_kernel.name;
            entry->module = of_kernel.module;
            entry->is_kernel = entry->is_doubtful = false;
        }
    }
    registry_unlock();
}

struct facts {
    const char *name;
    uint32_t registers, static_shared, param_bytes;
    uint32_t param_count;
    struct function_param params[MOST_PARAMS];
};

static bool name_of_function(ws_CUfunction function, const char **name)
{
    return driver.function_name && driver.function_name(name, function) == WS_CUDA_SUCCESS && *name;
}

static bool name_of_kernel(ws_CUkernel kernel, const char **name)
{
    return driver.kernel_name && driver.kernel_name(name, kernel) == WS_CUDA_SUCCESS && *name;
}

/* Asks the driver for all facts about the function. The caller does not hold the registry's lock, because no lock is
 * held during a call of the driver. */
static void ask(ws_CUfunction function, bool seen_as_kernel, struct facts *facts)
{
    ws_CUkernel kernel = (ws_CUkernel)function;
    ws_CUfunction plain = function;
    size_t offset, size;
    *facts = (struct facts){ 0 };
    bool is_kernel =
        seen_as_kernel || (!name_of_function(function, &facts->name) && name_of_kernel(kernel, &facts->name));
    if (seen_as_kernel)
        name_of_kernel(kernel, &facts->name);
    if (is_kernel && driver.kernel_function)
        driver.kernel_function(&plain, kernel);
    for (uint32_t i = 0; i < MOST_PARAMS; i++) {
        bool there =
            is_kernel
                ? driver.kernel_param && driver.kernel_param(kernel, i, &offset, &size) == WS_CUDA_SUCCESS
                : driver.function_param && driver.function_param(function, i, &offset, &size) == WS_CUDA_SUCCESS;
        if (!there || offset + size > UINT16_MAX)
            break;
        facts->params[facts->param_count++] = (struct function_param){ (uint16_t)offset, (uint16_t)size };
        facts->param_bytes = (uint32_t)(offset + size);
    }
    int value = 0;
    if (driver.function_attribute && driver.function_attribute(&value, ATTRIBUTE_REGISTERS, plain) == WS_CUDA_SUCCESS)
        facts->registers = (uint32_t)value;
    if (driver.function_attribute &&
        driver.function_attribute(&value, ATTRIBUTE_SHARED_BYTES, plain) == WS_CUDA_SUCCESS)
        facts->static_shared = (uint32_t)value;
}

/* A kernel's identity is a hash of its name, registers and parameters. The name is not enough: programs that compile
 * at run time may have several kernels with the same name and different parameters, and each kernel needs its own
 * layout. */
static uint64_t identity(const char *name, const struct facts *facts)
{
    const uint64_t words[] = { ws_hash(name, strlen(name)), facts->registers,
                               ws_hash(facts->params, facts->param_count * sizeof(facts->params[0])) };
    return ws_hash_key(words, sizeof(words));
}

/* How many words of the kernel's parameter block are kept as the launch's image (param_image.h). An image is kept
 * only if the kernel takes structures that the reports can read (src/analysis/cost/argument_grammars.h). Structures
 * of other kernels may hold values that change from launch to launch, such as random seeds. With such values, every
 * launch would have an image of its own, and the trace would store all these images. */
static uint32_t image_words(const char *name)
{
    static const struct {
        const char *part; /* part of the kernel's name */
        uint32_t bytes;
    } kernels[] = {
        { "gpu_kernel_impl", 8 * WS_IMAGE_WORDS },
        { "LoadWithCast", 8 * WS_IMAGE_WORDS },
        { "ReduceOp", 8 * WS_IMAGE_WORDS },
        { "CatArrayBatchedCopy", 8 * WS_IMAGE_WORDS },
        { "multi_tensor_apply_kernel", 8 * WS_IMAGE_WORDS },
        { "Flash_kernel_traits", 256 },
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (strstr(name, kernels[i].part))
            return kernels[i].bytes / 8;
    return 0;
}

static const struct function_layout *keep_layout(const struct facts *facts, const char *name)
{
    size_t params = facts->param_count * sizeof(struct function_param);
    struct function_layout *layout = params && layout_pieces.size < MOST_LAYOUTS_SIZE
                                         ? ws_pieces_take(&layout_pieces, sizeof(*layout) + params)
                                         : NULL;
    if (!layout)
        return &no_layout;
    layout->count = facts->param_count;
    layout->image_words = image_words(name);
    memcpy(layout->params, facts->params, params);
    return layout;
}

/* Called with the registry's lock held. Adds the kernel to the dictionary, and returns its id. If the dictionary is
 * full, counts the kernel once as refused, and returns NO_ROOM. */
static uint32_t add_function(struct ws_function *row, const struct facts *facts, const char *name)
{
    uint32_t next = atomic_load_explicit(&registry.function.count, memory_order_relaxed);
    const struct function_layout **layout = next < registry.function.limit ? ws_chunks_make(&layouts, next) : NULL;
    uint32_t id = 0;
    if (layout) {
        *layout = keep_layout(facts, name); /* the layout is stored before any other thread can know the id */
        row->name = registry_text(name);
        id = registry_add(&registry.function, row);
    } else {
        atomic_fetch_add(&registry.function.refused, 1);
    }
    return id ? id : NO_ROOM;
}

uint32_t function_find(ws_CUfunction function)
{
    struct facts facts;
    char unnamed[32];
    const char *seen = NULL;
    bool kernel = false, has_no_room = false;
    uint32_t id = 0;
    if (!registry_lock())
        return 0;
    struct known *entry = known_entry(function);
    if (entry) {
        id = entry->id;
        seen = entry->name.data; /* the text is zero-terminated and never freed */
        kernel = entry->is_kernel;
        has_no_room = entry->has_no_room;
    }
    registry_unlock();
    if (!entry)
        atomic_fetch_add(&registry.function.refused, 1);
    if (!entry || id || has_no_room)
        return id;

    struct driver_ask asking;
    driver_ask_begin(&asking);
    ask(function, kernel, &facts);
    driver_ask_end(&asking);
    snprintf(unnamed, sizeof(unnamed), "kernel@%p", (void *)function);
    const char *best = facts.name ? facts.name : seen ? seen : unnamed;
    struct ws_function row = {
        .registers = facts.registers,
        .static_shared_bytes = facts.static_shared,
        .param_bytes = facts.param_bytes,
        .handle = (uintptr_t)function,
    };
    if (!registry_lock())
        return 0;
    uint64_t *same = ws_map_put(&ids, identity(best, &facts));
    if (same && !*same)
        *same = add_function(&row, &facts, best);
    entry = known_entry(function);
    if (entry && same) {
        entry->has_no_room = *same == NO_ROOM;
        id = entry->id = entry->has_no_room ? 0 : (uint32_t)*same;
    }
    registry_unlock();
    return id;
}

const struct function_layout *function_layout(uint32_t id)
{
    return id ? *(const struct function_layout **)ws_chunks_row(&layouts, id - 1) : &no_layout;
}

/* All handles become doubtful, because the shim does not know which modules belonged to the destroyed context. Each
 * entry keeps the kernel's name until the program looks the kernel up again, because an old driver cannot be asked
 * for the name. */
void functions_doubt(void)
{
    bool locked = registry_lock();
    for (uint32_t i = 0; locked && i < known_count; i++) {
        known_at(i + 1)->id = 0;
        known_at(i + 1)->has_no_room = false;
        known_at(i + 1)->is_doubtful = true;
    }
    shim_forget_handles();
    if (locked)
        registry_unlock();
}

void functions_forget_module(const void *module)
{
    bool locked = registry_lock();
    for (uint32_t i = 0; locked && i < known_count; i++) {
        struct known *entry = known_at(i + 1);
        /* An entry without a module is forgotten, too: the shim did not see the program look its kernel up, so the
         * kernel may be in the unloaded module. */
        if (!entry->function || (entry->module && entry->module != module))
            continue;
        ws_map_remove(&handles, (uintptr_t)entry->function);
        entry->function = NULL;
    }
    shim_forget_handles();
    if (locked)
        registry_unlock();
}
