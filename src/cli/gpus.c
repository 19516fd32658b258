/* gpus: lists the GPU types of the catalogue. */
#include "base/json.h"
#include "cli/cli.h"
#include "executor/inventory.h"
#include "scenario/type_speed.h"

#include <stdio.h>
#include <string.h>

struct options {
    const char *catalogue;
    bool json;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(struct options, catalogue, "catalogue", 'c', "FILE", "another catalogue than the one in the program"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "as JSON"),
};

static const struct adl_verb verb = {
    .name = "gpus",
    .summary = "Lists the GPU types that the catalogue has: memory, rates, power, and whether speeds on them were "
               "measured, modelled from specifications, or are estimated.",
    .operands = "[TYPE...]",
    .operands_max = 64,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro gpus\nadlro gpus rtx4090 h200 --json",
};

/* Direct measurements of any class; or figures from ratios and formulas; or none, so that the reader estimates them. */
static const char *speeds_of(const struct adl_catalogue *catalogue, const char *type)
{
    if (!adl_type_has_speeds(catalogue, type))
        return "estimated";
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        const struct adl_catalogue_speed *speed = adl_catalogue_find_speed(&catalogue->classes[i], type);
        if (speed && !speed->modelled)
            return "measured";
    }
    return "modelled";
}

static void put_number(struct adl_text *text, int width, double value)
{
    char number[ADL_NUMBER_SIZE];
    adl_number_print(number, 'g', 4, value);
    adl_text_printf(text, " %*s", width, value > 0 ? number : "-");
}

static void put_line(const struct adl_catalogue *catalogue, const struct adl_gpu_type *gpu, struct adl_text *text)
{
    adl_text_printf(text, "%-13s %-7s", gpu->name, gpu->vendor);
    put_number(text, 8, gpu->memory_mib / 1024.0);
    put_number(text, 7, gpu->bandwidth_gbs);
    put_number(text, 7, gpu->fp32_tflops);
    put_number(text, 7, gpu->fp16_tflops);
    put_number(text, 7, gpu->fp64_tflops);
    put_number(text, 7, gpu->idle_w);
    put_number(text, 7, gpu->context_w);
    put_number(text, 7, gpu->max_w);
    adl_text_printf(text, "  %s\n", speeds_of(catalogue, gpu->name));
}

static void put_json(const struct adl_catalogue *catalogue, const struct adl_gpu_type *gpu, struct adl_json *json)
{
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_string(json, "name", gpu->name);
    adl_json_put_string(json, "vendor", gpu->vendor);
    adl_json_put_int(json, "memory_mib", gpu->memory_mib);
    adl_json_put_real(json, "bandwidth_gbs", gpu->bandwidth_gbs);
    adl_json_put_real(json, "fp32_tflops", gpu->fp32_tflops);
    adl_json_put_real(json, "fp16_tflops", gpu->fp16_tflops);
    adl_json_put_real(json, "fp64_tflops", gpu->fp64_tflops);
    adl_json_put_real(json, "idle_w", gpu->idle_w);
    adl_json_put_real(json, "context_w", gpu->context_w);
    adl_json_put_real(json, "max_w", gpu->max_w);
    adl_json_put_string(json, "speeds", speeds_of(catalogue, gpu->name));
    adl_json_put_string(json, "source", gpu->source);
    adl_json_end(json);
}

static bool is_wanted(const struct adl_operands *operands, const char *name)
{
    for (int i = 0; i < operands->count; i++)
        if (strcmp(operands->items[i], name) == 0)
            return true;
    return operands->count == 0 && strcmp(name, ADL_VIRTUAL_TYPE) != 0;
}

static int check_names(const struct adl_catalogue *catalogue, const struct adl_operands *operands,
                       struct adl_error *err)
{
    for (int i = 0; i < operands->count; i++)
        if (!adl_catalogue_find_type(catalogue, operands->items[i]))
            return adl_catalogue_refuse_type(catalogue, operands->items[i], err);
    return 0;
}

static void list(const struct adl_catalogue *catalogue, const struct adl_operands *operands, bool as_json,
                 struct adl_text *text)
{
    struct adl_json json = adl_json_start(text, true);
    if (as_json)
        adl_json_array(&json);
    else
        adl_text_printf(text,
                        "%-13s %-7s %8s %7s %7s %7s %7s %7s %7s %7s  %s\n%-13s %-7s %8s %7s %7s %7s %7s %7s %7s %7s\n",
                        "type", "vendor", "memory", "memory", "FP32", "FP16", "FP64", "idle", "context", "limit",
                        "speeds", "", "", "GiB", "GB/s", "TFLOP/s", "TFLOP/s", "TFLOP/s", "W", "W", "W");
    for (uint32_t i = 0; i < catalogue->type_count; i++) {
        const struct adl_gpu_type *gpu = &catalogue->types[i].gpu;
        if (!is_wanted(operands, gpu->name))
            continue;
        if (as_json)
            put_json(catalogue, gpu, &json);
        else
            put_line(catalogue, gpu, text);
    }
    if (as_json) {
        adl_json_end(&json);
        adl_text_char(text, '\n');
    }
}

static int run(int argc, char **argv)
{
    struct options o = {.json = false};
    struct adl_operands operands;
    struct adl_catalogue catalogue = {0};
    struct adl_text text = {0};
    struct adl_error err = {{0}};
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_inventory_catalogue(o.catalogue, &catalogue, &err);
    status = status == ADL_EIO ? ADL_EINVAL : status; /* a wrong file name */
    status = status ? status : check_names(&catalogue, &operands, &err);
    if (!status) {
        list(&catalogue, &operands, o.json, &text);
        status = adl_output_write("-", &text, &err);
    }
    adl_text_clear(&text);
    adl_catalogue_clear(&catalogue);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_gpus = {&verb, run};
