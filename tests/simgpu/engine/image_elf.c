#include "engine/engine.h"

ws_CUresult sim_image_elf(const unsigned char *image, struct sim_module *into)
{
    (void)image, (void)into;
    return WS_CUDA_ERROR_INVALID_IMAGE;
}

ws_CUresult sim_image_fatbin(const unsigned char *image, struct sim_module *into)
{
    return sim_image_elf(image, into);
}
