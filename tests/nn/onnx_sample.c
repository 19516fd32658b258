/* onnx_sample DIRECTORY: writes networks as N.onnx and, as N.json, inputs with the values that our own forward pass
 * gives them. Used by check_onnx. */
#include "base/json.h"
#include "nn/onnx.h"
#include "nn_fixture.h"

#include <stdio.h>

static const struct adl_qnet_shape shapes[] = {
    {ADL_QNET_SHARED, 12, 8, 24, 16, 64, 0},
    {ADL_QNET_SHARED, 3, 0, 0, 32, 16, 0},
    {ADL_QNET_PAPER, 1, 5, 0, 32, 128, 16},
};

static void write_file(const char *directory, int number, const char *ending, const struct adl_text *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", directory, number, ending);
    FILE *file = fopen(path, "wb");
    if (!file || adl_text_status(text) || fwrite(text->data, 1, text->size, file) != text->size || fclose(file) != 0) {
        fprintf(stderr, "onnx_sample: cannot write %s\n", path);
        exit(1);
    }
}

/* A list of rows. */
static void put_matrix(struct adl_json *json, const char *name, int rows, int columns, const float *x)
{
    adl_json_key(json, name);
    adl_json_array(json);
    for (int r = 0; r < rows; r++) {
        adl_json_array(json);
        for (int c = 0; c < columns; c++)
            adl_json_real(json, (double)x[r * columns + c]);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static float *member_matrix(const struct adl_qnet_batch *batch, bool is_paper, int gpus, int actions)
{
    const int columns = gpus + is_paper;
    float *x = nn_numbers(nn_area(actions, columns));
    for (int a = 0; a < actions; a++) {
        const int first = batch->member_offset[a], count = batch->member_offset[a + 1] - first;
        if (count == 0 && is_paper)
            x[a * columns + gpus] = 1;
        for (int i = 0; i < count; i++)
            x[a * columns + batch->members[first + i]] += 1 / (float)count;
    }
    return x;
}

static void write_sample(const char *directory, int number, const struct adl_qnet *net, const float *params,
                         const struct adl_qnet_batch *batch)
{
    const struct adl_qnet_shape *shape = &net->shape;
    const int gpus = batch->gpu_offset[1], actions = batch->action_offset[1];
    const bool is_paper = shape->kind == ADL_QNET_PAPER;
    struct adl_qnet_workspace *workspace = NULL;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    if (adl_qnet_workspace_create(net, &(struct adl_qnet_limits){1, gpus, actions}, &workspace, NULL) != 0)
        exit(1);
    float *q = nn_numbers((size_t)actions), *members = member_matrix(batch, is_paper, gpus, actions);
    adl_qnet_forward(net, params, batch, workspace, q);
    adl_json_object(&json);
    put_matrix(&json, "gpus", gpus, shape->gpu_features, batch->gpus);
    if (shape->state_features > 0)
        put_matrix(&json, "state", 1, shape->state_features, batch->state);
    if (shape->action_features > 0)
        put_matrix(&json, "actions", actions, shape->action_features, batch->actions);
    put_matrix(&json, "members", actions, gpus + is_paper, members);
    put_matrix(&json, "q", 1, actions, q);
    adl_json_end(&json);
    write_file(directory, number, "json", &text);
    adl_text_clear(&text);
    adl_qnet_workspace_destroy(workspace);
    free(q), free(members);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes) && argc == 2; i++) {
        struct adl_qnet net;
        struct adl_rng rng;
        struct nn_sample sample;
        struct adl_text bytes = {0};
        adl_rng_seed(&rng, (uint64_t)i + 1, "onnx");
        if (adl_qnet_make(&shapes[i], adl_kernels_choose(true), &net, NULL) != 0)
            return 1;
        float *params = random_numbers(&rng, net.parameter_count);
        for (size_t p = 0; p < net.parameter_count; p++)
            params[p] *= 0.3f;
        do {
            nn_sample_make(&rng, &shapes[i], 1, 40, 30, &sample);
            if (sample.gpu_offset[1] >= 2 && sample.action_offset[1] >= 5)
                break;
            nn_sample_clear(&sample);
        } while (true);
        if (adl_onnx_write(&net, params, &bytes, NULL) != 0)
            return 1;
        write_file(argv[1], i, "onnx", &bytes);
        write_sample(argv[1], i, &net, params, &sample.batch);
        adl_text_clear(&bytes);
        nn_sample_clear(&sample);
        free(params);
    }
    return argc == 2 ? 0 : 2;
}
