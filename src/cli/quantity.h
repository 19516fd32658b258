/* quantity: times and sizes as users of Slurm write them, and how they are printed. */
#ifndef ADLRO_CLI_QUANTITY_H
#define ADLRO_CLI_QUANTITY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* "90" minutes, "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS", and "90s", "30m", "2h", "1d". Seconds; at least
 * one, less than a hundred years. The message starts with what: "--time". */
int adl_duration_read(const char *text, const char *what, int64_t *ret_s, struct adl_error *err);

/* "8G", "512M", "1T", "2048K" (rounded up), plain numbers are MiB. 1..INT32_MAX MiB. */
int adl_memory_read(const char *text, const char *what, int64_t *ret_mib, struct adl_error *err);

#define ADL_DURATION_SIZE 32

/* As squeue does: "0:07", "12:03", "1:02:03", "2-01:02:03". Returns buffer. */
const char *adl_duration_print(double seconds, char buffer[ADL_DURATION_SIZE]);

/* A moment, Unix seconds, in local time: "2026-11-16 06:01:02". Returns buffer. */
const char *adl_moment_print(double seconds, char buffer[ADL_DURATION_SIZE]);

#endif
