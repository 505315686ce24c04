#include "collector/client.h"
#include "collector/process.h"

void client_watch(struct client *client)
{
    const struct figures_source source = { .job = jobs_get(&client->all->jobs, client->hello.job, false)->name,
                                           .host = client->hello.host,
                                           .rank = client->hello.rank,
                                           .pid = client->identity.pid,
                                           .here = !*client->from,
                                           .earliest =
                                               *client->from ? 0 : process_began(client->identity.start_time) };
    client->figures = figures_open(client->all->figures, &source);
    figures_resume(client->figures, client->file, client->stream.taken);
}
