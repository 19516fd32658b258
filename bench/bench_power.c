/* bench_power: how well the law of power caps fits Zeus's measurements: fitted on all, on all but one GPU, on all but
 * one network, beside the naive law; where energy is least; and how well a load is predicted from other GPU types. A
 * bar that is missed is marked and makes it exit 1. */
#include "base/index.h"
#include "predict/loads.h"
#include "predict/power.h"
#include "zeus.h"

#include <math.h>

enum { PARAMETERS = 3, NETWORKS = 5 };

static const char *const networks[NETWORKS] = {"bert_base_uncased", "deepspeech2", "ncf", "resnet50", "shufflenetv2"};

static struct zeus zeus;
static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

/* Which rows: all, only those of, or all but those of, one GPU or network. */
struct choice {
    uint32_t gpu;        /* ADL_NONE: any */
    const char *network; /* NULL: any */
    bool others;
};

static bool chosen(const struct choice *choice, const struct zeus_row *row)
{
    const bool named = (choice->gpu == ADL_NONE || choice->gpu == row->gpu) &&
                       (!choice->network || strcmp(choice->network, row->network) == 0);
    return named != choice->others;
}

struct errors {
    double power_w, power_share, slowdown, log_slowdown; /* means of absolute values */
    size_t count;
};

static void add_error(struct errors *errors, const struct zeus_row *row, double power_w, double slowdown)
{
    const double measured = row->epoch_s / zeus.rows[row->top].epoch_s;
    errors->power_w += fabs(power_w - row->power_w);
    errors->power_share += fabs(power_w - row->power_w) / zeus_types[row->gpu].max_w;
    errors->slowdown += fabs(slowdown - measured);
    errors->log_slowdown += fabs(log(slowdown / measured));
    errors->count++;
}

static struct errors mean_of(struct errors sum)
{
    const double count = (double)(sum.count ? sum.count : 1);
    return (struct errors){sum.power_w / count, sum.power_share / count, sum.slowdown / count, sum.log_slowdown / count,
                           sum.count};
}

static double top_load(const struct zeus_row *row)
{
    return adl_power_load(&zeus_types[row->gpu], zeus.rows[row->top].power_w);
}

/* What the law makes of a row. */
static void tell(const struct adl_power_law *law, const struct zeus_row *row, double *ret_w, double *ret_slowdown)
{
    const struct adl_gpu_type *type = &zeus_types[row->gpu];
    const double span_w = type->max_w - type->context_w;
    const struct adl_power_point point =
        adl_power_law_point(law, top_load(row), (row->cap_w - type->context_w) / span_w);
    *ret_w = type->context_w + span_w * point.load;
    *ret_slowdown = 1.0 / point.speed;
}

/* law NULL: draw = min(cap, uncapped), speed = cap / uncapped. */
static struct errors errors_of(const struct adl_power_law *law, const struct choice *choice)
{
    struct errors sum = {0};
    for (size_t i = 0; i < zeus.count; i++) {
        const struct zeus_row *row = &zeus.rows[i];
        if (row->top == i || !chosen(choice, row))
            continue;
        const double top_w = zeus.rows[row->top].power_w;
        double power_w = fmin(row->cap_w, top_w), slowdown = fmax(1.0, top_w / row->cap_w);
        if (law)
            tell(law, row, &power_w, &slowdown);
        add_error(&sum, row, power_w, slowdown);
    }
    return mean_of(sum);
}

static double loss(const struct adl_power_law *law, const struct choice *choice)
{
    const struct errors errors = errors_of(law, choice);
    return errors.power_share + errors.log_slowdown;
}

/* Least sum of both errors, by steps along one parameter at a time that halve when none helps. */
static struct adl_power_law fit(const struct choice *choice)
{
    static const double lowest[PARAMETERS] = {1, 0, 0.01}, highest[PARAMETERS] = {6, 1, 0.6};
    double at[PARAMETERS] = {2, 0.5, 0.2}, best = HUGE_VAL;
    for (double scale = 1; scale > 0.01;) {
        bool better = false;
        for (int move = 0; move < 2 * PARAMETERS; move++) {
            const double step[PARAMETERS] = {0.2, 0.1, 0.05};
            double try[PARAMETERS];
            memcpy(try, at, sizeof at);
            try[move / 2] += (move % 2 ? -scale : scale) * step[move / 2];
            try[move / 2] = fmin(fmax(try[move / 2], lowest[move / 2]), highest[move / 2]);
            const double now = loss(&(struct adl_power_law){try[0], try[1], try[2]}, choice);
            if (now < best - 1e-9) {
                best = now;
                memcpy(at, try, sizeof at);
                better = true;
            }
        }
        scale = better ? scale : scale / 2;
    }
    return (struct adl_power_law){at[0], at[1], at[2]};
}

static void show(const struct errors *errors)
{
    printf(" %5.1f W %4.1f %% %6.3f %6.3f |", errors->power_w, 100 * errors->power_share, errors->slowdown,
           errors->log_slowdown);
}

/* A row of the table: what is left out of the fit is what is shown. */
static void show_left_out(const char *name, struct choice choice, bool barred)
{
    choice.others = true;
    const struct adl_power_law without = fit(&choice);
    choice.others = false;
    const struct errors naive = errors_of(NULL, &choice), used = errors_of(&adl_power_law_fitted, &choice),
                        left_out = errors_of(&without, &choice);
    printf("%-18s %5zu |", name, naive.count);
    show(&naive);
    show(&used);
    show(&left_out);
    printf(" %.2f %.2f %.2f", without.bend, without.burst, without.least);
    if (barred)
        printf("  below naive in both: %s",
               verdict(left_out.power_share < naive.power_share && left_out.log_slowdown < naive.log_slowdown));
    putchar('\n');
}

static void bench_law(void)
{
    const struct choice all = {.gpu = ADL_NONE};
    const struct adl_power_law best = fit(&all), *used = &adl_power_law_fitted;
    printf("law: bend %.2f, burst %.2f, least %.2f; the best fit here: %.3f %.3f %.3f; loss %.4f, best %.4f (within 1 "
           "%%: %s)\n\n",
           used->bend, used->burst, used->least, best.bend, best.burst, best.least, loss(used, &all), loss(&best, &all),
           verdict(loss(used, &all) <= 1.01 * loss(&best, &all)));
    printf("mean absolute error of power (W, %% of TDP), of the slowdown and of its logarithm, capped rows only\n");
    printf("%-18s %5s |%-29s|%-29s|%-29s| law without it\n", "", "rows", " naive", " law, fitted on all",
           " law, fitted without it");
    const struct errors naive = errors_of(NULL, &all), law = errors_of(used, &all);
    printf("%-18s %5zu |", "all", naive.count);
    show(&naive);
    show(&law);
    putchar('\n');
    for (uint32_t gpu = 0; gpu < ZEUS_GPUS; gpu++)
        show_left_out(zeus_types[gpu].name, (struct choice){.gpu = gpu}, true);
    for (int n = 0; n < NETWORKS; n++) /* NCF hardly touches the GPU: its slowdowns are noise, nothing beats "none" */
        show_left_out(networks[n], (struct choice){.gpu = ADL_NONE, .network = networks[n]},
                      strcmp(networks[n], "ncf") != 0);
}

/* ---- where energy is least ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Medians over the settings that load the GPU, at a cap: energy and time relative to uncapped. */
static void show_cap(uint32_t gpu, double cap_w, double ret_energy[2])
{
    static double energy[2][ZEUS_ROWS], slowdown[2][ZEUS_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < zeus.count; i++) {
        const struct zeus_row *row = &zeus.rows[i], *top = &zeus.rows[row->top];
        if (row->gpu != gpu || row->cap_w != cap_w || top_load(row) < 0.5)
            continue;
        double power_w;
        tell(&adl_power_law_fitted, row, &power_w, &slowdown[1][count]);
        slowdown[0][count] = row->epoch_s / top->epoch_s;
        energy[0][count] = slowdown[0][count] * row->power_w / top->power_w;
        energy[1][count] = slowdown[1][count] * power_w / top->power_w;
        count++;
    }
    if (count == 0) {
        ret_energy[0] = ret_energy[1] = HUGE_VAL;
        return;
    }
    ret_energy[0] = median(energy[0], count);
    ret_energy[1] = median(energy[1], count);
    printf("%-8s %3.0f W %.2f of TDP, %2zu settings: energy %.2f / %.2f, time %.2f / %.2f\n", zeus_types[gpu].name,
           cap_w, cap_w / zeus_types[gpu].max_w, count, ret_energy[0], ret_energy[1], median(slowdown[0], count),
           median(slowdown[1], count));
}

static void bench_energy(void)
{
    printf("\nsettings of load >= 0.5, medians, measured / law\n");
    for (uint32_t gpu = 0; gpu < ZEUS_GPUS; gpu++) {
        double least[2] = {HUGE_VAL, HUGE_VAL}, where[2] = {0, 0};
        for (int step = 4; 25 * step < zeus_types[gpu].max_w; step++) {
            const double cap_w = 25 * step;
            double energy[2];
            show_cap(gpu, cap_w, energy);
            for (int k = 0; k < 2; k++)
                if (energy[k] < least[k]) {
                    least[k] = energy[k];
                    where[k] = cap_w;
                }
        }
        printf("%-8s energy is least at %.2f / %.2f of TDP, %.2f / %.2f of uncapped\n", zeus_types[gpu].name,
               where[0] / zeus_types[gpu].max_w, where[1] / zeus_types[gpu].max_w, least[0], least[1]);
    }
    const struct adl_gpu_type *v100 = &zeus_types[0];
    const double load = adl_power_load(v100, 222), speed = adl_power_cap_speed(v100, load, 150);
    const double energy = adl_power_draw_w(v100, load, 150) / adl_power_draw_w(v100, load, 0) / speed;
    printf("ResNet-50 on V100 at 0.6 of TDP: energy %.3f (measured 0.77), time %.3f (measured 1.18): %s\n", energy,
           1 / speed, verdict(fabs(energy - 0.77) < 0.02 && fabs(1 / speed - 1.18) < 0.02));
}

/* ---- loads ---- */

/* What is believed of a setting's load on one GPU after its draw on the others was measured. */
static struct adl_load tell_load(const struct adl_cluster *cluster, const struct zeus_row *row, double *ret_prior)
{
    struct adl_loads *loads = NULL;
    if (adl_loads_create(cluster, 1, &loads))
        exit(1);
    *ret_prior = adl_loads_find(loads, 0, row->gpu, ADL_KIND_TRAINING).load;
    for (size_t i = 0; i < zeus.count; i++)
        if (zeus.rows[i].top == i && zeus.rows[i].gpu != row->gpu && strcmp(zeus.rows[i].setting, row->setting) == 0)
            adl_loads_measure(loads, 0, zeus.rows[i].gpu, zeus.rows[i].power_w, 0);
    const struct adl_load told = adl_loads_find(loads, 0, row->gpu, ADL_KIND_TRAINING);
    adl_loads_destroy(loads);
    return told;
}

static void bench_loads(void)
{
    struct adl_gpu_type types[ZEUS_GPUS];
    memcpy(types, zeus_types, sizeof types);
    const struct adl_cluster cluster = {.types = types, .type_count = ZEUS_GPUS};
    printf("\nloads, mean absolute error: by kind alone / told from the other GPUs\n");
    for (uint32_t gpu = 0; gpu < ZEUS_GPUS; gpu++) {
        double error[2] = {0, 0}, prior;
        size_t count = 0;
        for (size_t i = 0; i < zeus.count; i++) {
            const struct zeus_row *row = &zeus.rows[i];
            if (row->top != i || row->gpu != gpu)
                continue;
            const struct adl_load told = tell_load(&cluster, row, &prior);
            if (told.types == 0)
                continue;
            error[0] += fabs(prior - top_load(row));
            error[1] += fabs(told.load - top_load(row));
            count++;
        }
        printf("%-8s %2zu settings: %.3f / %.3f\n", zeus_types[gpu].name, count, error[0] / (double)count,
               error[1] / (double)count);
    }
}

/* The load of a setting told from its draw under each cap. */
static void bench_capped_loads(void)
{
    printf("\nloads told from the draw under a cap, mean absolute error by cap / TDP\n");
    for (uint32_t gpu = 0; gpu < ZEUS_GPUS; gpu++) {
        printf("%-8s", zeus_types[gpu].name);
        for (int tenths = 3; tenths < 10; tenths++) {
            double error = 0;
            size_t count = 0;
            for (size_t i = 0; i < zeus.count; i++) {
                const struct zeus_row *row = &zeus.rows[i];
                const struct adl_gpu_type *type = &zeus_types[row->gpu];
                if (row->gpu != gpu || row->top == i || (int)(10 * row->cap_w / type->max_w + 1e-9) != tenths)
                    continue;
                error += fabs(adl_power_load_capped(type, row->power_w, row->cap_w) - top_load(row));
                count++;
            }
            if (count > 0)
                printf("   0.%d+ %.3f", tenths, error / (double)count);
        }
        putchar('\n');
    }
}

int main(void)
{
    if (!zeus_read(&zeus)) {
        printf("bench_power: SKIPPED, there is no ../shared/data/zeus\n");
        return 0;
    }
    bench_law();
    bench_energy();
    bench_loads();
    bench_capped_loads();
    return missed > 0;
}
