#include "scenario/catalogue.h"

#include "base/range.h"
#include "base/suggest.h"

#include <string.h>

#define CLASSES_MAX  1024
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define GPU(member) ADL_YAML_AT(struct adl_catalogue_type, gpu.member)
static const struct adl_yaml_field type_fields[] = {
    {"name", ADL_YAML_WORD, GPU(name), .required = true, .help = "what scenarios call it"},
    {"vendor", ADL_YAML_WORD, GPU(vendor), .help = "its maker"},
    {"memory_mib", ADL_YAML_INT, GPU(memory_mib), .min = 1, .max = 1e8, .required = true, .help = "GPU memory"},
    {"bandwidth_gbs", ADL_YAML_REAL, GPU(bandwidth_gbs), .min = 0.1, .max = 1e6, .otherwise = "assumed",
     .help = "memory bandwidth in GB/s"},
    {"fp32_tflops", ADL_YAML_REAL, GPU(fp32_tflops), .min = 0.001, .max = 1e6, .otherwise = "assumed",
     .help = "single-precision peak in TFLOP/s"},
    {"fp16_tflops", ADL_YAML_REAL, GPU(fp16_tflops), .min = 0, .max = 1e6, .otherwise = "assumed",
     .help = "half-precision peak in TFLOP/s, matrix units where present; 0 = none stated"},
    {"fp64_tflops", ADL_YAML_REAL, GPU(fp64_tflops), .min = 0, .max = 1e6, .otherwise = "assumed",
     .help = "double-precision peak in TFLOP/s"},
    {"idle_w", ADL_YAML_REAL, GPU(idle_w), .min = 0, .max = 1e5, .otherwise = "assumed",
     .help = "power while no process has it open, in W"},
    {"context_w", ADL_YAML_REAL, GPU(context_w), .min = 0, .max = 1e5, .otherwise = "assumed",
     .help = "power while a process holds a context and does nothing, in W; at least `idle_w`"},
    {"max_w", ADL_YAML_REAL, GPU(max_w), .min = 1, .max = 1e5, .otherwise = "assumed",
     .help = "board power limit in W; at least `context_w`"},
    {"like", ADL_YAML_LINK, ADL_YAML_AT(struct adl_catalogue_type, like), .otherwise = "optional",
     .help = "a type that jobs run equally fast on, and that has the figures that are not given here"},
    {"source", ADL_YAML_TEXT, GPU(source), .help = "where the figures come from"},
    {"modelled", ADL_YAML_BOOL, GPU(modelled), .help = "speeds on it come from specifications, not from measurements"},
};
const struct adl_yaml_table adl_gpu_type_table = {
    .fields = type_fields,
    .field_count = COUNT(type_fields),
    .located = true,
    .size = sizeof(struct adl_catalogue_type),
    .defaults = &(const struct adl_catalogue_type){.gpu = {.vendor = "unknown", .source = "not stated"}}};

#define SPEED(member) ADL_YAML_AT(struct adl_catalogue_speed, member)
static const struct adl_yaml_field speed_fields[] = {
    {"type", ADL_YAML_LINK, SPEED(type), .required = true, .help = "a GPU type of this catalogue"},
    {"steps_per_s", ADL_YAML_REAL, SPEED(steps_per_s), .min = 1e-9, .max = 1e9, .required = true,
     .help = "steps per second on one such GPU"},
    {"modelled", ADL_YAML_BOOL, SPEED(modelled), .help = "the figure comes from specifications"},
    {"source", ADL_YAML_TEXT, SPEED(source), .required = true, .help = "where the figure comes from"},
};
static const struct adl_yaml_table speed_table = {.fields = speed_fields,
                                                  .field_count = COUNT(speed_fields),
                                                  .located = true,
                                                  .size = sizeof(struct adl_catalogue_speed),
                                                  .defaults = &(const struct adl_catalogue_speed){0}};

#define CLASS(member) ADL_YAML_AT(struct adl_catalogue_class, member)
static const struct adl_yaml_field class_fields[] = {
    {"name", ADL_YAML_WORD, CLASS(job.name), .required = true, .help = "what scenarios call it"},
    {"kind", ADL_YAML_NAME, CLASS(kind), .names = adl_kind_names, .required = true, .help = "kind of job"},
    {"gpu_memory_mib", ADL_YAML_INT, CLASS(job.gpu_memory_mib), .min = 0, .max = 1e8, .required = true,
     .help = "what it occupies on each GPU"},
    {"activity", ADL_YAML_REAL, CLASS(job.activity), .min = 0, .max = 1, .required = true,
     .help = "share of the compute units it keeps busy"},
    {"bandwidth", ADL_YAML_REAL, CLASS(job.bandwidth), .min = 0, .max = 1, .required = true,
     .help = "share of the memory bandwidth it keeps busy"},
    {"sync_share", ADL_YAML_REAL, CLASS(job.sync_share), .min = 0, .max = 1, .required = true,
     .help = "share of a step on several GPUs that is spent communicating over the node's link"},
    {"scaling", ADL_YAML_REAL, CLASS(job.scaling), .min = 0.01, .max = 1, .required = true,
     .help = "efficiency kept at each doubling of GPUs"},
    {"step_gflop", ADL_YAML_REAL, CLASS(job.step_gflop), .min = 0, .max = 1e9,
     .help = "arithmetic of a step on one GPU in GFLOP, as its users declare it; 0 = they do not"},
    {"step_gb", ADL_YAML_REAL, CLASS(job.step_gb), .min = 0, .max = 1e9,
     .help = "memory traffic of a step on one GPU in GB, as its users declare it; 0 = they do not"},
    {"source", ADL_YAML_TEXT, CLASS(source), .required = true, .help = "where the figures come from"},
    {"measured", ADL_YAML_TEXT, CLASS(measured), .otherwise = "`speeds` are given",
     .help = "instead of `speeds`: the job in the file of `--throughputs` whose speeds it has"},
    {"speeds", ADL_YAML_LIST, CLASS(speeds), .min = 1, .max = ADL_CATALOGUE_TYPES_MAX, .table = &speed_table,
     .otherwise = "`measured` is given", .help = "GPU types that it runs on"},
};
static const struct adl_yaml_table class_table = {.fields = class_fields,
                                                  .field_count = COUNT(class_fields),
                                                  .located = true,
                                                  .size = sizeof(struct adl_catalogue_class),
                                                  .defaults = &(const struct adl_catalogue_class){0}};

struct form {
    struct adl_yaml_list gpu_types;
    struct adl_yaml_list job_classes;
};
static const struct adl_yaml_field form_fields[] = {
    {"gpu_types", ADL_YAML_LIST, ADL_YAML_AT(struct form, gpu_types), .min = 1, .max = ADL_CATALOGUE_TYPES_MAX,
     .table = &adl_gpu_type_table, .required = true, .help = "GPU types"},
    {"job_classes", ADL_YAML_LIST, ADL_YAML_AT(struct form, job_classes), .min = 1, .max = CLASSES_MAX,
     .table = &class_table, .required = true, .help = "classes of jobs that behave alike"},
};
const struct adl_yaml_table adl_catalogue_table = {
    .fields = form_fields, .field_count = COUNT(form_fields), .size = sizeof(struct form)};

/* A figure that is not known is 0, and assumed to be about that of the slowest GPUs that are still used for training.
 */
static bool assume(double *figure, double value)
{
    if (*figure > 0)
        return false;
    *figure = value;
    return true;
}

void adl_gpu_type_complete(struct adl_gpu_type *gpu)
{
    bool assumed = assume(&gpu->bandwidth_gbs, 240);
    assumed |= assume(&gpu->fp32_tflops, 4);
    assumed |= assume(&gpu->max_w, 150);
    assumed |= assume(&gpu->context_w, 40.0 / 150 * gpu->max_w);
    assumed |= assume(&gpu->idle_w, gpu->context_w / 2);
    assumed |= assume(&gpu->fp64_tflops, gpu->fp32_tflops / 64);
    gpu->modelled |= assumed;
}

static const struct adl_catalogue_type *find_type(const struct adl_catalogue_type *types, uint32_t count,
                                                  const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].gpu.name, name) == 0)
            return &types[i];
    return NULL;
}

int adl_catalogue_refuse_type(const struct adl_catalogue *catalogue, const char *name, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = name};
    for (uint32_t i = 0; i < catalogue->type_count; i++)
        adl_suggest_offer(&suggest, catalogue->types[i].gpu.name);
    return adl_fail(err, ADL_EINVAL, "the catalogue has no type %s%s", adl_quote(name, quoted),
                    suggest.best ? adl_suggest_phrase(&suggest, phrase) : " (`adlro gpus` lists them)");
}

/* Gives the type the figures of the one that it is like, where it has none of its own. */
static int take_after(const struct adl_catalogue *catalogue, const struct adl_yaml *yaml, uint32_t index,
                      struct adl_catalogue_type *type, struct adl_error *err)
{
    const struct adl_catalogue_type *model = adl_catalogue_find_type(catalogue, type->like.text);
    if (!model || model->like.text) {
        struct adl_error inner;
        (void)adl_catalogue_refuse_type(catalogue, type->like.text, &inner);
        return adl_yaml_fail(yaml, type->like.line, err, "gpu_types[%u].like: %s", (unsigned)index, inner.text);
    }
    struct adl_gpu_type *gpu = &type->gpu;
    const struct adl_gpu_type *from = &model->gpu;
    (void)assume(&gpu->bandwidth_gbs, from->bandwidth_gbs);
    (void)assume(&gpu->fp32_tflops, from->fp32_tflops);
    (void)assume(&gpu->fp16_tflops, from->fp16_tflops);
    (void)assume(&gpu->fp64_tflops, from->fp64_tflops);
    (void)assume(&gpu->max_w, from->max_w);
    (void)assume(&gpu->context_w, from->context_w * gpu->max_w / from->max_w);
    (void)assume(&gpu->idle_w, from->idle_w * gpu->max_w / from->max_w);
    gpu->modelled |= from->modelled;
    return 0;
}

/* Checks and completes the types of a file; those of the catalogue are known. */
static int check_types(const struct adl_catalogue *catalogue, const struct adl_yaml *yaml,
                       struct adl_catalogue_type *types, uint32_t count, struct adl_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct adl_catalogue_type *type = &types[i];
        struct adl_gpu_type *gpu = &type->gpu;
        const struct adl_catalogue_type *first = find_type(types, i, gpu->name);
        if (first)
            return adl_yaml_fail(yaml, adl_yaml_line(type->at, "name"), err,
                                 "gpu_types[%u].name: '%s' is given twice; the first is on line %u", (unsigned)i,
                                 gpu->name, (unsigned)adl_yaml_line(first->at, "name"));
        const int status = type->like.text ? take_after(catalogue, yaml, i, type, err) : 0;
        if (status)
            return status;
        adl_gpu_type_complete(gpu);
        char idle[ADL_BOUND_SIZE], context[ADL_BOUND_SIZE], most[ADL_BOUND_SIZE];
        if (gpu->idle_w > gpu->context_w || gpu->context_w > gpu->max_w)
            return adl_yaml_fail(yaml, adl_yaml_line(type->at, "context_w"), err,
                                 "gpu_types[%u] must have idle_w <= context_w <= max_w, got %s, %s, %s", (unsigned)i,
                                 adl_bound_print(gpu->idle_w, idle), adl_bound_print(gpu->context_w, context),
                                 adl_bound_print(gpu->max_w, most));
    }
    return 0;
}

static int check_speeds(const struct adl_catalogue *catalogue, uint32_t index, struct adl_error *err)
{
    const struct adl_catalogue_class *class = &catalogue->classes[index];
    const struct adl_catalogue_speed *speeds = class->speeds.items;
    for (uint32_t i = 0; i < class->speeds.count; i++) {
        const char *name = speeds[i].type.text;
        char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
        if (!adl_catalogue_find_type(catalogue, name)) {
            struct adl_suggest suggest = {.word = name};
            for (uint32_t t = 0; t < catalogue->type_count; t++)
                adl_suggest_offer(&suggest, catalogue->types[t].gpu.name);
            return adl_yaml_fail(catalogue->yaml, speeds[i].type.line, err,
                                 "job_classes[%u].speeds[%u].type: gpu_types has no %s%s", (unsigned)index, (unsigned)i,
                                 adl_quote(name, quoted), adl_suggest_phrase(&suggest, phrase));
        }
        if (adl_catalogue_find_speed(class, name) != &speeds[i])
            return adl_yaml_fail(catalogue->yaml, speeds[i].type.line, err,
                                 "job_classes[%u].speeds[%u].type: %s is given twice", (unsigned)index, (unsigned)i,
                                 adl_quote(name, quoted));
    }
    return 0;
}

static int check_classes(const struct adl_catalogue *catalogue, struct adl_error *err)
{
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        const struct adl_catalogue_class *class = &catalogue->classes[i];
        const struct adl_catalogue_class *first = adl_catalogue_find_class(catalogue, class->job.name);
        if (first != class)
            return adl_yaml_fail(catalogue->yaml, adl_yaml_line(class->at, "name"), err,
                                 "job_classes[%u].name: '%s' is given twice; the first is on line %u", (unsigned)i,
                                 class->job.name, (unsigned)adl_yaml_line(first->at, "name"));
        if ((class->measured[0] != '\0') == (class->speeds.count > 0))
            return adl_yaml_fail(catalogue->yaml, class->at->line, err,
                                 "job_classes[%u] must have either speeds or measured, it has %s", (unsigned)i,
                                 class->speeds.count > 0 ? "both" : "neither");
        const int status = check_speeds(catalogue, i, err);
        if (status)
            return status;
    }
    return 0;
}

int adl_catalogue_parse(const char *name, const char *text, size_t size, struct adl_catalogue *ret,
                        struct adl_error *err)
{
    struct adl_catalogue catalogue = {0};
    struct form form;
    int status = adl_yaml_parse(name, text, size, &catalogue.yaml, err);
    if (status)
        return status;
    status = adl_yaml_read(catalogue.yaml, &adl_catalogue_table, &form, err);
    if (!status) {
        catalogue.types = form.gpu_types.items;
        catalogue.type_count = form.gpu_types.count;
        catalogue.classes = form.job_classes.items;
        catalogue.class_count = form.job_classes.count;
        status = check_types(&catalogue, catalogue.yaml, form.gpu_types.items, form.gpu_types.count, err);
    }
    status = status ? status : check_classes(&catalogue, err);
    if (status) {
        adl_catalogue_clear(&catalogue);
        return status;
    }
    *ret = catalogue;
    return 0;
}

int adl_catalogue_add_types(struct adl_catalogue *catalogue, const struct adl_yaml *yaml,
                            const struct adl_yaml_list *added, struct adl_error *err)
{
    const uint32_t count = added->count + catalogue->type_count;
    struct adl_catalogue_type *types = adl_yaml_alloc(catalogue->yaml, count * sizeof *types);
    if (!types)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the catalogue");
    if (added->count > 0)
        memcpy(types, added->items, added->count * sizeof *types);
    const int status = check_types(catalogue, yaml, types, added->count, err);
    if (status)
        return status;
    memcpy(types + added->count, catalogue->types, catalogue->type_count * sizeof *types);
    catalogue->types = types;
    catalogue->type_count = count;
    return 0;
}

void adl_catalogue_clear(struct adl_catalogue *catalogue)
{
    adl_yaml_destroy(catalogue->yaml);
    *catalogue = (struct adl_catalogue){0};
}

const struct adl_catalogue_type *adl_catalogue_find_type(const struct adl_catalogue *catalogue, const char *name)
{
    return find_type(catalogue->types, catalogue->type_count, name);
}

const struct adl_catalogue_class *adl_catalogue_find_class(const struct adl_catalogue *catalogue, const char *name)
{
    for (uint32_t i = 0; i < catalogue->class_count; i++)
        if (strcmp(catalogue->classes[i].job.name, name) == 0)
            return &catalogue->classes[i];
    return NULL;
}

const struct adl_catalogue_speed *adl_catalogue_find_speed(const struct adl_catalogue_class *class, const char *type)
{
    const struct adl_catalogue_speed *speeds = class->speeds.items;
    for (uint32_t i = 0; i < class->speeds.count; i++)
        if (strcmp(speeds[i].type.text, type) == 0)
            return &speeds[i];
    return NULL;
}
