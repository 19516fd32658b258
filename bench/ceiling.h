/* ceiling: how much arithmetic one core of this machine can do, by a loop that only multiplies and adds in registers,
 * and how much a network asks for. */
#ifndef ADLRO_BENCH_CEILING_H
#define ADLRO_BENCH_CEILING_H

#include "experiment/run.h"
#include "nn/qnet.h"

#define CEILING_PIECES 200 /* the best of so many, as the machine has other work */

#if defined(__x86_64__)
typedef float vec8 __attribute__((vector_size(32)));

/* Twelve independent sums, as the kernels' tile has them: enough to hide the latency of a multiply-add. */
__attribute__((target("avx2,fma"))) static inline float spin(long count)
{
    vec8 a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0}, i = {0}, j = {0}, k = {0}, l = {0};
    const vec8 x = {1, 1, 1, 1, 1, 1, 1, 1};
    for (long n = 0; n < count; n++)
        __asm__ volatile("vfmadd231ps %12, %12, %0\n vfmadd231ps %12, %12, %1\n vfmadd231ps %12, %12, %2\n"
                         "vfmadd231ps %12, %12, %3\n vfmadd231ps %12, %12, %4\n vfmadd231ps %12, %12, %5\n"
                         "vfmadd231ps %12, %12, %6\n vfmadd231ps %12, %12, %7\n vfmadd231ps %12, %12, %8\n"
                         "vfmadd231ps %12, %12, %9\n vfmadd231ps %12, %12, %10\n vfmadd231ps %12, %12, %11\n"
                         : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h), "+x"(i), "+x"(j),
                           "+x"(k), "+x"(l)
                         : "x"(x));
    return (a + b + c + d + e + f + g + h + i + j + k + l)[0];
}

static inline double peak_gflops(void)
{
    const long count = 1000000;
    double best = 0;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    for (int round = 0; round < CEILING_PIECES; round++) {
        const int64_t start_ns = adl_clock_ns();
        const float sum = spin(count);
        const double spent_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
        const double rate = (double)count * 12 * 8 * 2 / spent_s * 1e-9;
        best = sum > 0 && rate > best ? rate : best;
    }
    return best;
}
#else
static inline double peak_gflops(void)
{
    return 0; /* not known here */
}
#endif

/* Multiplications and additions of one forward pass; padding does not count. */
static inline double forward_flops(const struct adl_qnet *net, int states, int gpus, int actions)
{
    double flops = 0;
    for (int l = 0; l < net->layer_count; l++) {
        const bool per_gpu = l <= ADL_QNET_CONV2,
                   per_action = net->shape.kind == ADL_QNET_SHARED && l >= ADL_QNET_ACTION1;
        flops += 2.0 * net->layers[l].inputs * net->layers[l].outputs *
                 (per_gpu      ? gpus
                  : per_action ? actions
                               : states);
    }
    return flops;
}

#endif
