/* Sets ranges and marks with NVTX, in all ways, around launches. Prints the results of some NVTX functions. Except
 * for the line "the same again", the output with the shim must equal the output without a tool.
 *
 *     marking STEPS KERNEL_NS */
#include <pthread.h>
#include <wchar.h>

#ifdef WITH_TOOLKIT
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_loader.h"
#endif

#include "program.h"

enum { DEPTH = 100 };

static struct gpu gpu;
static uint64_t kernel_ns;
static nvtxDomainHandle_t library;

static void launch(void)
{
    MUST(spin(gpu.spin, gpu.stream, kernel_ns));
}

static nvtxEventAttributes_t event_of(const char *text)
{
    nvtxEventAttributes_t event = { 0 };
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    return event;
}

/* Ranges of the program's own domain overlap with ranges of the default domain, and are not nested in them. */
static void step(int number, nvtxStringHandle_t registered)
{
    char text[64];
    snprintf(text, sizeof(text), "step %d", number);
    nvtxRangePushA(text);
    nvtxEventAttributes_t event = event_of("layer 3");
    nvtxDomainRangePushEx(library, &event);
    nvtxRangePushA("forward");
    launch();
    nvtxDomainRangePop(library);
    launch();
    nvtxRangePop();
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = registered;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = 77;
    nvtxDomainRangePushEx(library, &event);
    launch();
    nvtxDomainRangePop(library);
    snprintf(text, sizeof(text), "aten::mm, seq = %d, op_id = %d, sizes = [[2, 3], [3, 4]]", number, 2 * number);
    nvtxRangePushA(text);
    launch();
    nvtxRangePop();
    MUST(cuStreamSynchronize(gpu.stream));
    nvtxRangePop();
}

static void *end_elsewhere(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void odd_ones(void)
{
    nvtxRangeId_t first = nvtxRangeStartA("first started"), second = nvtxRangeStartA("second started");
    nvtxRangeEnd(first);
    nvtxRangeEnd(second);
    nvtxRangeEnd(second);
    nvtxRangeId_t elsewhere = nvtxRangeStartA("ends elsewhere");
    pthread_t thread;
    pthread_create(&thread, NULL, end_elsewhere, &elsewhere);
    pthread_join(thread, NULL);
    nvtxMarkA("mark");
    nvtxRangePushW(L"wide \x00e9\x20ac\x1f600");
    nvtxRangePop();
    nvtxRangePushA(NULL);
    nvtxRangePop();
    for (int i = 0; i < DEPTH; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < DEPTH; i++)
        nvtxRangePop();
    nvtxRangePop();
    printf("pop without push: %d\n", nvtxRangePop());
    printf("push: %d\n", nvtxRangePushA("never ends"));
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 1;
    kernel_ns = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    library = nvtxDomainCreateA("library");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(library, "registered");
    printf("the same again: %d\n", library == nvtxDomainCreateA("library"));
    printf("before the first context: %d\n", nvtxRangePushA("early"));
    gpu_open(&gpu, 0);
    launch();
    printf("after it: %d\n", nvtxRangePop());
    for (int i = 0; i < steps; i++)
        step(i, registered);
    odd_ones();
    return 0;
}
