#include "nccl/nccl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char *nccl_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* Maps the communicator's shared file at this path. The first rank creates the file. */
struct nccl_shared *nccl_meet(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    struct nccl_shared *shared = MAP_FAILED;
    if (ftruncate(file, sizeof(*shared)) == 0)
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared == MAP_FAILED)
        return NULL;
    atomic_fetch_add(&shared->joined, 1);
    return shared;
}

/* Leaves the shared file of the communicator. The last rank to leave removes the file. */
void nccl_part(struct ws_ncclComm_st *comm)
{
    if (!comm->shared)
        return;
    if (atomic_fetch_add(&comm->shared->left, 1) + 1 == comm->size)
        unlink(comm->path);
    munmap(comm->shared, sizeof(*comm->shared));
    comm->shared = NULL;
}
