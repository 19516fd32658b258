/* http_framing: whether the head of a request is unambiguous. If two readers of one connection, such as a proxy and
 * this server, parse a head differently, one request can be smuggled within another.
 *
 * libmicrohttpd parses heads. From 1.0 on it refuses (MHD_OPTION_STRICT_FOR_CLIENT) lines that do not end with CR LF,
 * and zero bytes. Earlier versions accept a lone CR or LF as the end of a line, and truncate a value at a zero byte.
 * But they parse in place, so that the parts of a head must follow each other in memory at exactly the distances that
 * the syntax requires. Only addresses are compared; nothing is read through them. */
#include "http/http_internal.h"

#include <string.h>
#include <strings.h>

/* Collected while the headers are visited. */
struct head {
    bool in_place;      /* the library parses in place and is lenient */
    uintptr_t line_end; /* of the last line so far: the first byte after its value */
    bool broken;        /* a line does not end as it should, or has a zero byte */
    bool bad_name, bad_value;
    int lengths, codings, hosts;
};

static bool is_forgiving(void)
{
    return MHD_get_version()[0] == '0';
}

/* RFC 9110, 5.6.2. White space before the colon is not part of one. */
static bool is_token(const char *text)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

/* A lone CR among them. */
static bool has_control(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct head *head = cls;
    (void)kind;
    value = value ? value : "";
    head->broken |= head->in_place && (uintptr_t)name != head->line_end + 2; /* CR LF */
    head->line_end = (uintptr_t)value + strlen(value);
    head->bad_name |= !is_token(name);
    head->bad_value |= has_control(value);
    head->lengths += strcasecmp(name, "Content-Length") == 0 ? 1 : 0;
    head->codings += strcasecmp(name, "Transfer-Encoding") == 0 ? 1 : 0;
    head->hosts += strcasecmp(name, "Host") == 0 ? 1 : 0;
    return MHD_YES;
}

/* The target is between single spaces. The last line ends, and an empty line follows. */
static bool is_whole(const struct head *head, const struct adl_http_request *request, const char *method,
                     const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info && (uintptr_t)method + info->header_size == head->line_end + 4 &&
           (uintptr_t)request->address == (uintptr_t)method + strlen(method) + 1 &&
           (uintptr_t)version == (uintptr_t)request->address_end + 1;
}

const char *adl_framing_fault(const struct adl_http_request *request, const char *method, const char *version,
                              bool *ret_has_body)
{
    struct MHD_Connection *mhd = request->connection->mhd;
    struct head head = {.in_place = is_forgiving(), .line_end = (uintptr_t)version + strlen(version)};
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, check_header, &head);
    const char *coding = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Transfer-Encoding");
    const char *length = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");
    if (head.bad_name)
        return "The name of a header has a character that none may have, or white space before its colon.";
    if (head.bad_value)
        return "The value of a header has a control character.";
    if (head.broken || (head.in_place && !is_whole(&head, request, method, version)))
        return "Each line of the head must end with CR LF, none may be folded, and none may hold a zero byte.";
    if (head.lengths + head.codings > 1 || head.hosts > 1)
        return "The length of the body, or the host, is given more than once.";
    if (coding && strcasecmp(coding, "chunked") != 0)
        return "The only transfer encoding understood is chunked.";
    if (length && (length[0] == '\0' || length[strspn(length, "0123456789")] != '\0'))
        return "Content-Length must be a number.";
    *ret_has_body = coding || (length && length[strspn(length, "0")] != '\0');
    return NULL;
}
