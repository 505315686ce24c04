#include "library.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

/* Folders in which the library may be, relative to the folder of this program. */
static const char *const places[] = { "../" WS_LIBDIR, "../lib", "../lib64", "../shim", "." };

int tool_find_library(char *path, size_t capacity)
{
    const char *given = getenv("WALLSHIM_LIBRARY");
    char program[4096], candidate[4352], *found;
    if (given && *given) {
        if (access(given, R_OK))
            return tool_error("%s (from WALLSHIM_LIBRARY): %s", given, strerror(errno));
        found = realpath(given, NULL);
        snprintf(path, capacity, "%s", found ? found : given);
        free(found);
        return 0;
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s/libwallshim.so", program, places[i]);
        found = access(candidate, R_OK) ? NULL : realpath(candidate, NULL);
        if (!found)
            continue;
        snprintf(path, capacity, "%s", found);
        free(found);
        if (strpbrk(path, " :"))
            return tool_error(
                "%s: the loader cannot preload from a path with spaces or colons; install wallshim elsewhere", path);
        return 0;
    }
    return tool_error("libwallshim.so was not found beside this program; set WALLSHIM_LIBRARY to its path");
}

/* Finds the command as the shell would. */
static bool find_command(const char *command, char *path, size_t capacity)
{
    const char *at = getenv("PATH");
    if (strchr(command, '/')) {
        snprintf(path, capacity, "%s", command);
        return !access(path, F_OK);
    }
    while (at && *at) {
        size_t length = strcspn(at, ":");
        snprintf(path, capacity, "%.*s/%s", length ? (int)length : 1, length ? at : ".", command);
        if (!access(path, X_OK))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static bool has_interpreter(int file, const Elf64_Ehdr *header)
{
    for (unsigned i = 0; i < header->e_phnum && i < 256; i++) {
        Elf64_Phdr part;
        off_t place = (off_t)(header->e_phoff + (Elf64_Off)i * header->e_phentsize);
        if (pread(file, &part, sizeof(part), place) != (ssize_t)sizeof(part))
            break;
        if (part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

static const char *why_of_file(int file)
{
    Elf64_Ehdr header;
    struct stat status;
    if (!fstat(file, &status) && (status.st_mode & (S_ISUID | S_ISGID)))
        return "the command is set-user-ID or set-group-ID; the loader preloads nothing into such programs";
    if (pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return "the command is a 32-bit program, but libwallshim.so is 64-bit";
    if (!has_interpreter(file, &header))
        return "the command is linked statically; nothing can be preloaded into it";
    return NULL;
}

const char *tool_why_nothing(const char *command)
{
    char path[4096];
    const char *why = NULL;
    int file = find_command(command, path, sizeof(path)) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        why = why_of_file(file);
        close(file);
    }
    return why;
}
