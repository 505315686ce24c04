/* Runs a fuzz target over files; each argument is a file or a folder of files. Tests run it over inputs that fuzzers
 * found earlier, without a fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    /* Allocates exactly the file's size, so that a sanitizer detects a read beyond the input. */
    uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
    int status = size > 0 && (!data || fread(data, 1, (size_t)size, file) != (size_t)size) ? -1 : 0;
    if (!status)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    replayed++;
    free(data);
    fclose(file);
    return status;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    int status = 0;
    if (!folder)
        return replay_file(path);
    for (struct dirent *entry; (entry = readdir(folder)) && !status;) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            status = replay_file(name);
    }
    closedir(folder);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (replay_folder(argv[i])) {
            perror(argv[i]);
            return 1;
        }
    printf("%u inputs replayed\n", replayed);
    return replayed ? 0 : 1;
}
