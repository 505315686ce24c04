// Makes the CUDA runtime find the driver, and then prints every function of the driver that it holds: the words in
// writable memory that are addresses of functions in libcuda or libwallshim. Memory of these two libraries is left out.
#include <cuda_runtime.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

__global__ void nothing(void)
{
}

static const char *file_name(const char *path)
{
    const char *slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_driver(const char *path)
{
    const char *file = file_name(path);
    return !std::strncmp(file, "libcuda.so", 10) || !std::strncmp(file, "libwallshim.so", 14);
}

// The memory of the two libraries: what they keep for themselves does not count.
static std::vector<std::pair<uintptr_t, uintptr_t>> own;

static int add_own(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; is_driver(info->dlpi_name) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &part = info->dlpi_phdr[i];
        if (part.p_type == PT_LOAD)
            own.emplace_back(info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    return 0;
}

static bool is_own(uintptr_t at)
{
    for (const auto &part : own)
        if (at >= part.first && at < part.second)
            return true;
    return false;
}

static void look_at(const void *word, std::set<std::string> &found)
{
    Dl_info info;
    if (reinterpret_cast<uintptr_t>(word) < 4096 || !dladdr(word, &info) || !info.dli_fname || !info.dli_sname)
        return;
    if (is_driver(info.dli_fname) && info.dli_saddr == word && !std::strncmp(info.dli_sname, "cu", 2))
        found.insert(std::string(info.dli_sname) + " " + file_name(info.dli_fname));
}

int main()
{
    static const uintptr_t most = 64 << 20; // what the runtime keeps is small
    std::set<std::string> found;
    void *memory = nullptr;
    int devices = -1;
    std::printf("cudaGetDeviceCount: %d\n", static_cast<int>(cudaGetDeviceCount(&devices)));
    std::printf("devices: %d\n", devices);
    std::printf("cudaMalloc: %d\n", static_cast<int>(cudaMalloc(&memory, 4096)));
    nothing<<<1, 32>>>();
    std::printf("launch: %d\n", static_cast<int>(cudaGetLastError()));
    std::printf("cudaDeviceSynchronize: %d\n", static_cast<int>(cudaDeviceSynchronize()));

    dl_iterate_phdr(add_own, nullptr);
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    char line[4352], access[8], path[4096];
    while (maps && std::fgets(line, sizeof(line), maps)) {
        unsigned long begin, end;
        path[0] = 0;
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &begin, &end, access, path) < 3 ||
            std::strncmp(access, "rw", 2) || end - begin > most || !std::strcmp(path, "[stack]"))
            continue;
        for (uintptr_t at = begin; at + sizeof(void *) <= end; at += sizeof(void *))
            if (!is_own(at))
                look_at(*reinterpret_cast<void **>(at), found);
    }
    if (maps)
        std::fclose(maps);
    for (const std::string &function : found)
        std::printf("holds %s\n", function.c_str());
    return 0;
}
