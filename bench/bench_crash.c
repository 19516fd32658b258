/* bench_crash: 200 times kill -9 of the service at random moments under load: every acknowledged job must be there
 * afterwards, exactly once. bench_crash [KILLS [SEED]] */
#include "service_crash.h"

int main(int argc, char **argv)
{
    const uint32_t kills = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const int64_t start_us = service_now_us();
    const bool good = crash_rounds(kills, seed);
    printf("%u times kill -9 in %.0f s, down for %.0f ms at most each time\n", crash.kills,
           (double)(service_now_us() - start_us) * 1e-6, crash.down_ms_max);
    printf(
        "%u jobs acknowledged, %u more stored whose answer a kill cut off; of these %u ran, %u of them more than once "
        "because that was asked for, %u were cancelled\n",
        crash.acked, crash.unacked, crash.ran, crash.requeued, crash.cancelled);
    printf("every acknowledged job is there, exactly once: %s%s%s\n", good ? "met" : "MISSED", good ? "" : ": ",
           crash.trouble);
    return !good;
}
