/* error: what went wrong, as a negative status for programs and a text for people. */
#ifndef ADLRO_BASE_ERROR_H
#define ADLRO_BASE_ERROR_H

enum adl_status {
    ADL_OK = 0,
    ADL_EINVAL = -1, /* input that is malformed, contradictory or out of range */
    ADL_ENOMEM = -2,
    ADL_EIO = -3,      /* a file or device failed */
    ADL_EREFUSED = -4, /* a well-formed request that may not be executed now */
    ADL_EABSENT = -5,  /* what is named does not exist */
    ADL_EDENIED = -6,  /* it exists, but the caller has no permission */
    ADL_EFULL = -7,    /* there is no room for it now */
};

struct adl_error {
    char text[400];
};

/* Writes the text and returns status, so that a caller can say `return adl_fail(err, ADL_EINVAL, ...)`.
 * err may be NULL. */
int adl_fail(struct adl_error *err, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
