/* Loops that clang's OpenMP offloads to the device, started by two threads. */
#include <omp.h>
#include <stdio.h>

enum { COUNT = 1000, ROUNDS = 50 };

int main(void)
{
    static float values[2][COUNT];
    int devices = omp_get_num_devices();
#pragma omp parallel for num_threads(2)
    for (int which = 0; which < 2; which++) {
        float *mine = values[which];
        for (int round = 0; round < ROUNDS; round++) {
#pragma omp target teams distribute parallel for map(tofrom : mine [0:COUNT])
            for (int i = 0; i < COUNT; i++)
                mine[i] += 1;
        }
    }
    void *memory = omp_target_alloc(4096, 0);
    char bytes[4096];
    int copied = omp_target_memcpy(bytes, memory, sizeof(bytes), 0, 0, omp_get_initial_device(), 0);
    omp_target_free(memory, 0);
    printf("devices %d, copied %d\n", devices, copied);
    return 0;
}
