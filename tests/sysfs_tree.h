/* sysfs_tree: a folder as the amdgpu and amdkfd drivers fill /sys: an MI50 at 0000:83:00.0 that amdkfd lists first, and
 * a card at 0000:03:00.0 without hwmon and without a product name. card2 is of another vendor, card0-DP-1 a connector.
 */
#ifndef SYSFS_TREE_H
#define SYSFS_TREE_H

#include "telemetry_fixture.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct sysfs_tree {
    char root[64];
};

/* Writes one file; makes the folders above it. */
static inline void tree_put(const struct sysfs_tree *tree, const char *name, const char *text)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline int tree_remove_one(const char *path, const struct stat *unused, int flag, struct FTW *ftw)
{
    (void)unused, (void)flag, (void)ftw;
    return remove(path);
}

static inline void tree_remove(const struct sysfs_tree *tree, const char *name)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define MI50 "class/drm/card1/device/"
#define BARE "class/drm/card0/device/"

static inline void tree_make(struct sysfs_tree *tree)
{
    snprintf(tree->root, sizeof tree->root, "/tmp/adlro-sysfs-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
    tree_put(tree, MI50 "vendor", "0x1002\n");
    tree_put(tree, MI50 "device", "0x66a1\n");
    tree_put(tree, MI50 "uevent", "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:66A1\nPCI_SLOT_NAME=0000:83:00.0\n");
    tree_put(tree, MI50 "unique_id", "2135a6d5fbd82a1c\n");
    tree_put(tree, MI50 "product_name", "Radeon Instinct MI50\n");
    tree_put(tree, MI50 "gpu_busy_percent", "94\n");
    tree_put(tree, MI50 "mem_busy_percent", "38\n");
    tree_put(tree, MI50 "mem_info_vram_total", "17163091968\n");
    tree_put(tree, MI50 "mem_info_vram_used", "4294967296\n");
    tree_put(tree, MI50 "pp_dpm_sclk", "0: 925Mhz \n1: 930Mhz \n2: 1350Mhz *\n3: 1725Mhz \n");
    tree_put(tree, MI50 "hwmon/hwmon4/name", "amdgpu\n");
    tree_put(tree, MI50 "hwmon/hwmon4/power1_average", "187000000\n");
    tree_put(tree, MI50 "hwmon/hwmon4/power1_cap", "225000000\n");
    tree_put(tree, MI50 "hwmon/hwmon4/temp1_input", "61000\n");
    tree_put(tree, MI50 "hwmon/hwmon4/temp2_input", "68000\n");
    tree_put(tree, BARE "vendor", "0x1002\n");
    tree_put(tree, BARE "device", "0x738c\n");
    tree_put(tree, BARE "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
    tree_put(tree, BARE "gpu_busy_percent", "0\n");
    tree_put(tree, BARE "mem_info_vram_total", "34342961152\n");
    tree_put(tree, "class/drm/card0-DP-1/status", "disconnected\n");
    tree_put(tree, "class/drm/card2/device/vendor", "0x10de\n");
    tree_put(tree, "class/drm/card2/device/uevent", "PCI_SLOT_NAME=0000:04:00.0\n");
    tree_put(tree, "class/kfd/kfd/topology/nodes/0/gpu_id", "0\n"); /* a CPU */
    tree_put(tree, "class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 16\nlocation_id 0\ndomain 0\n");
    tree_put(tree, "class/kfd/kfd/topology/nodes/1/gpu_id", "51234\n");
    tree_put(tree, "class/kfd/kfd/topology/nodes/1/properties", "simd_count 240\nlocation_id 33536\ndomain 0\n");
    tree_put(tree, "class/kfd/kfd/topology/nodes/2/gpu_id", "777\n");
    tree_put(tree, "class/kfd/kfd/topology/nodes/2/properties", "simd_count 480\nlocation_id 768\ndomain 0\n");
    tree_put(tree, "class/kfd/kfd/proc/3100/vram_51234", "1073741824\n");
    tree_put(tree, "class/kfd/kfd/proc/3100/vram_777", "0\n");
    tree_put(tree, "class/kfd/kfd/proc/3200/vram_51234", "0\n");
    tree_put(tree, "class/kfd/kfd/proc/3200/vram_777", "0\n");
    tree_put(tree, "class/kfd/kfd/proc/3200/queues/0/gpuid", "777\n");
    tree_put(tree, "class/kfd/kfd/proc/3300/vram_51234", "0\n"); /* has the driver open and does nothing */
}

#endif
