#include "slurm/controller.h"

#include "slurm/meter.h"
#include "slurm/version.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PING_MS 500

int adl_slurm_controller_load(struct adl_slurm_controller *controller, struct adl_error *err)
{
    slurm_conf_t *conf = NULL;
    const int status = slurm_load_ctl_conf(0, &conf);
    if (status != SLURM_SUCCESS)
        return adl_fail(err, ADL_EIO, "slurmctld does not answer: %s", slurm_strerror(adl_slurm_error_of(status)));
    controller->host_count = 0;
    for (uint32_t i = 0; i < conf->control_cnt && controller->host_count < 2; i++) {
        if (conf->control_addr[i])
            snprintf(controller->hosts[controller->host_count++], sizeof controller->hosts[0], "%s",
                     conf->control_addr[i]);
    }
    controller->port = (uint16_t)conf->slurmctld_port;
    snprintf(controller->version, sizeof controller->version, "%s", conf->version ? conf->version : "");
    snprintf(controller->cluster, sizeof controller->cluster, "%s", conf->cluster_name ? conf->cluster_name : "");
    controller->meter = adl_slurm_meter(conf->acct_gather_energy_type);
    controller->meter_s = conf->acct_gather_node_freq;
    adl_slurm_ctl_conf_free(conf);
    return 0;
}

static bool connects(const struct addrinfo *address)
{
    const int fd = socket(address->ai_family, SOCK_STREAM, 0);
    if (fd < 0)
        return true; /* our own failure says nothing about slurmctld */
    bool open = false;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
        open = connect(fd, address->ai_addr, address->ai_addrlen) == 0;
        if (!open && errno == EINPROGRESS) {
            struct pollfd waiting = {.fd = fd, .events = POLLOUT};
            int code = 1;
            socklen_t size = sizeof code;
            open =
                poll(&waiting, 1, PING_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0;
        }
    }
    close(fd);
    return open;
}

bool adl_slurm_controller_ping(const struct adl_slurm_controller *controller)
{
    if (controller->host_count == 0 || controller->port == 0)
        return true;
    char port[8];
    snprintf(port, sizeof port, "%u", controller->port);
    bool open = false;
    for (uint32_t i = 0; i < controller->host_count && !open; i++) {
        struct addrinfo *list = NULL;
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
        if (getaddrinfo(controller->hosts[i], port, &hints, &list) != 0)
            continue;
        for (const struct addrinfo *address = list; address && !open; address = address->ai_next)
            open = connects(address);
        freeaddrinfo(list);
    }
    return open;
}
