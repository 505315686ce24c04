/* A plugin that was linked with the program's own libzstd.so.1. */
int own_zstd(void);
int plugin_answer(void);

int plugin_answer(void)
{
    return own_zstd();
}
