/* sm_fill.c: see sm_fill.h. The fill is sent as a 16-bit integer. */
#include "protocol/sm_fill.h"

#include "util/bits.h"

static uint16_t to_share(double value)
{
    const double scaled = value * RSTI_SM_FILL_ONCE;
    if (!(scaled > 0.0)) {
        return 0;
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
    put_u16(value, to_share(fill->fill));
    put_u16(value + 2, fill->is_clear ? RSTI_SM_FILL_FLAG_CLEAR : 0);
    put_u16(value + 4, 0);
    put_u16(value + 6, 0);
    rsti_put_i64(value + 8, fill->drain);
    rsti_put_i64(value + 16, fill->allowed);
    rsti_put_i64(value + 24, fill->buffer_bytes);
}

void rsti_sm_fill_decode(rsti_sm_fill_t *fill, const uint8_t *value)
{
    *fill = (rsti_sm_fill_t){
        .is_clear = (get_u16(value + 2) & RSTI_SM_FILL_FLAG_CLEAR) != 0,
        .fill = get_u16(value) / RSTI_SM_FILL_ONCE,
        .drain = rsti_get_i64(value + 8),
        .allowed = rsti_get_i64(value + 16),
        .buffer_bytes = rsti_get_i64(value + 24),
    };
}
