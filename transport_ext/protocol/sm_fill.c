/* sm_fill.c: see sm_fill.h. Fractions are sent as 16-bit integers. */
#include "protocol/sm_fill.h"

#include "util/bits.h"

static uint16_t to_share(double value, double whole)
{
    const double scaled = value * whole;
    if (!(scaled > 0.0)) {
        return 0;
    }
    if (scaled < 1.0) {
        return 1;
    }
    return scaled < UINT16_MAX ? (uint16_t)(scaled + 0.5) : UINT16_MAX;
}

static void put_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static uint16_t get_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

void rsti_sm_fill_encode(const rsti_sm_fill_t *fill, uint8_t *value)
{
    const int32_t senders = fill->sender_count;
    put_u16(value, to_share(fill->strength, RSTI_SM_FILL_WHOLE));
    put_u16(value + 2, to_share(fill->fill, RSTI_SM_FILL_ONCE));
    put_u16(value + 4, to_share(fill->variation, RSTI_SM_FILL_WHOLE));
    put_u16(value + 6, (uint16_t)(senders < 0 ? 0 : senders > UINT16_MAX ? UINT16_MAX : senders));
    rsti_put_i64(value + 8, fill->drain);
    rsti_put_i64(value + 16, fill->drain_all);
    rsti_put_i64(value + 24, fill->buffer_bytes);
}

void rsti_sm_fill_decode(rsti_sm_fill_t *fill, const uint8_t *value)
{
    *fill = (rsti_sm_fill_t){
        .strength = get_u16(value) / RSTI_SM_FILL_WHOLE,
        .fill = get_u16(value + 2) / RSTI_SM_FILL_ONCE,
        .variation = get_u16(value + 4) / RSTI_SM_FILL_WHOLE,
        .sender_count = get_u16(value + 6),
        .drain = rsti_get_i64(value + 8),
        .drain_all = rsti_get_i64(value + 16),
        .buffer_bytes = rsti_get_i64(value + 24),
    };
}
