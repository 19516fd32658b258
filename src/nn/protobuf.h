/* protobuf: writes the wire format of protocol buffers, of which ONNX needs three kinds of field. */
#ifndef ADLRO_NN_PROTOBUF_H
#define ADLRO_NN_PROTOBUF_H

#include "base/text.h"

#include <stdint.h>
#include <string.h>

static inline void adl_protobuf_varint(struct adl_text *text, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        adl_text_char(text, (char)(value & 0x7f) + (char)-128);
    adl_text_char(text, (char)value);
}

static inline void adl_protobuf_int(struct adl_text *text, unsigned field, int64_t value)
{
    adl_protobuf_varint(text, field << 3 | 0);
    adl_protobuf_varint(text, (uint64_t)value);
}

static inline void adl_protobuf_bytes(struct adl_text *text, unsigned field, const char *data, size_t size)
{
    adl_protobuf_varint(text, field << 3 | 2);
    adl_protobuf_varint(text, size);
    if (size > 0)
        adl_text_bytes(text, data, size);
}

static inline void adl_protobuf_string(struct adl_text *text, unsigned field, const char *string)
{
    adl_protobuf_bytes(text, field, string, strlen(string));
}

/* Moves message into text as a field; if message ran out of memory, so has text. */
static inline void adl_protobuf_message(struct adl_text *text, unsigned field, struct adl_text *message)
{
    adl_protobuf_bytes(text, field, message->data, message->size);
    text->failed = text->failed || message->failed;
    adl_text_clear(message);
}

#endif
