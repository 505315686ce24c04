/* Looks up every driver function in every way (linking, dlsym, versions of cuGetProcAddress), and prints the result
 * of each look-up in a line:
 *
 *   WAY NAME VERSION FLAGS: RESULT STATUS SYMBOL LIBRARY
 *
 * SYMBOL and LIBRARY are the result of dladdr for the address. The names come from a file with lines SYMBOL BASE
 * VERSION. The functions that the shim wraps (driver_table.h) are also found by plain linking. lookups.py compares
 * two such lists. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 1024, MOST_VERSIONS = 16, UNTOUCHED = 77 };

/* Declares the driver's functions for plain linking, without their types. */
#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after) extern char symbol[];
#include "shim/hook/driver_table.h"

static const struct linked {
    const char *name;
    void *address;
} linked[] = {
#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after) { #symbol, symbol },
#include "shim/hook/driver_table.h"
};

static struct name {
    char symbol[64], base[64];
    int version;
} names[MOST_NAMES];
static int name_count;

typedef int (*get_1)(const char *, void **, int, uint64_t);
typedef int (*get_2)(const char *, void **, int, uint64_t, int *);

struct way {
    const char *name;
    get_1 one;
    get_2 two;
};

static void print_address(void *address)
{
    Dl_info info;
    if (!address) {
        puts("NULL -");
    } else if ((uintptr_t)address == UNTOUCHED) {
        puts("untouched -");
    } else if (!dladdr(address, &info) || !info.dli_fname) {
        puts("nowhere -");
    } else {
        const char *slash = strrchr(info.dli_fname, '/');
        bool exact = info.dli_saddr == address;
        printf("%s %s\n", exact && info.dli_sname ? info.dli_sname : "inside", slash ? slash + 1 : info.dli_fname);
    }
}

static void ask(const struct way *way, const char *name, int version, uint64_t flags)
{
    void *address = (void *)(uintptr_t)UNTOUCHED;
    int status = UNTOUCHED, result;
    if (way->two)
        result = way->two(name, &address, version, flags, &status);
    else
        result = way->one(name, &address, version, flags);
    printf("%s %s %d %d: %d %d ", way->name, name, version, (int)flags, result, status);
    print_address(address);
}

static void add_version(int *versions, int *count, int version)
{
    for (int i = 0; i < *count; i++)
        if (versions[i] == version)
            return;
    if (*count < MOST_VERSIONS)
        versions[(*count)++] = version;
}

/* Looks up each base name once with each of several versions: versions in which the function changed, versions
 * shortly before these, and a few fixed versions, some of which never existed. */
static void ask_all(const struct way *way)
{
    for (int i = 0; i < name_count; i++) {
        int versions[MOST_VERSIONS], count = 0;
        bool before = false;
        for (int j = 0; j < i && !before; j++)
            before = !strcmp(names[j].base, names[i].base);
        if (before)
            continue;
        static const int always[] = { 0, 7000, 11030, 12000, 13000, 99000 };
        for (unsigned j = 0; j < sizeof(always) / sizeof(always[0]); j++)
            add_version(versions, &count, always[j]);
        for (int j = i; j < name_count; j++) {
            if (strcmp(names[j].base, names[i].base))
                continue;
            add_version(versions, &count, names[j].version - 10);
            add_version(versions, &count, names[j].version);
        }
        for (int j = 0; j < count; j++)
            for (uint64_t flags = 0; flags < 4; flags++)
                ask(way, names[i].base, versions[j], flags);
    }
    static const char *const strangers[] = {
        "", "cu", "cuNobody", "cuLaunchKernel_ptsz", "cuMemcpyHtoD_v2", "cudnnCreate", "ncclAllReduce", "dlsym"
    };
    for (unsigned i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
        for (uint64_t flags = 0; flags < 4; flags++)
            ask(way, strangers[i], 12000, flags);
}

static void read_names(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file) && name_count < MOST_NAMES) {
        struct name *name = &names[name_count];
        name_count += sscanf(line, "%63s %63s %d", name->symbol, name->base, &name->version) == 3;
    }
    if (!name_count) {
        fprintf(stderr, "no names in %s\n", path);
        exit(2);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    read_names(argv[1]);
    for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++) {
        printf("linked %s 0 0: 0 0 ", linked[i].name);
        print_address(linked[i].address);
    }
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 1;
    for (int i = 0; i < name_count; i++) {
        printf("handle %s 0 0: 0 0 ", names[i].symbol);
        print_address(dlsym(driver, names[i].symbol));
        printf("default %s 0 0: 0 0 ", names[i].symbol);
        print_address(dlsym(RTLD_DEFAULT, names[i].symbol));
        printf("next %s 0 0: 0 0 ", names[i].symbol);
        print_address(dlsym(RTLD_NEXT, names[i].symbol));
    }
    struct way ways[4] = {
        { "v1", (get_1)dlsym(driver, "cuGetProcAddress"), NULL },
        { "v2", NULL, (get_2)dlsym(driver, "cuGetProcAddress_v2") },
        { "nested-v1", NULL, NULL },
        { "nested-v2", NULL, NULL },
    };
    void *nested = NULL;
    if (!ways[1].two("cuGetProcAddress", &nested, 11030, 0, NULL))
        ways[2].one = (get_1)nested;
    if (!ways[1].two("cuGetProcAddress", &nested, 12000, 0, NULL))
        ways[3].two = (get_2)nested;
    for (int i = 0; i < 4; i++)
        if (ways[i].one || ways[i].two)
            ask_all(&ways[i]);
    return 0;
}
