/* fuzz_powercap: any bytes as an allow list, and any lines from a client of the power helper: limits that it set stay
 * within the list, and at the end every limit is as it was before. */
#include "powercap/allow_list.h"
#include "powercap/powercap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU  "/class/drm/card0/device"
#define MON  GPU "/hwmon/hwmon0"
#define SIZE 60000 /* fits into a socket's buffer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/adlro-fuzz-powercap-XXXXXX";

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s%s", root, name);
    if (!text) {
        must(mkdir(path, 0700) == 0);
        return;
    }
    FILE *file = fopen(path, "w");
    must(file && fputs(text, file) >= 0);
    fclose(file);
}

/* A tree like /sys with one GPU of AMD's. */
static void make_tree(void)
{
    static const char *const folders[] = {"/class", "/class/drm", "/class/drm/card0", GPU, GPU "/hwmon", MON};
    must(mkdtemp(root) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        put(folders[i], NULL);
    put(GPU "/vendor", "0x1002\n");
    put(GPU "/unique_id", "1\n");
    put(MON "/power1_cap", "200000000");
    put(MON "/power1_cap_max", "225000000\n");
    put(MON "/power1_cap_min", "90000000\n");
    put("/allow", "GPU-0000000000000001 100 150\n");
}

static void check_limit(void)
{
    char path[200], text[32] = "";
    snprintf(path, sizeof path, "%s" MON "/power1_cap", root);
    FILE *file = fopen(path, "r");
    must(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    must(strtoul(text, NULL, 10) == 200000000);
}

static void speak(const uint8_t *data, size_t size)
{
    char allow[80], state[80];
    int ends[2];
    struct adl_error err = {""};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    must(send(ends[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
    shutdown(ends[0], SHUT_WR);
    snprintf(allow, sizeof allow, "%s/allow", root);
    snprintf(state, sizeof state, "%s/state", root);
    const struct adl_powercap_options options = {
        .allow = allow, .state = state, .nvml = "/nowhere.so", .sysfs = root, .fd = ends[1], .end_fd = -1};
    must(adl_powercap_serve(&options, &err) == 0);
    must(access(state, F_OK) != 0);
    check_limit();
    close(ends[0]);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct adl_allow_list list;
    static bool made;
    static char text[SIZE + 1];
    struct adl_error err = {""};
    if (!made)
        make_tree();
    made = true;
    if (size > SIZE)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (adl_allow_list_read("list", text, &list, &err) == 0)
        for (uint32_t i = 0; i < list.count; i++)
            must(list.entries[i].least_mw >= 1000 && list.entries[i].most_mw >= list.entries[i].least_mw);
    else
        must(err.text[0] != '\0');
    speak(data, size);
    return 0;
}
