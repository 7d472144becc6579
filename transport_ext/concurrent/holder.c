/* holder.c: a sequence lock over nine words: odd while they are written. */
#include "concurrent/holder.h"

#include "util/int_math.h"

#include <string.h>

#define WORDS 9
#define READS_MAX 100

typedef struct words_t {
    int64_t version;
    int64_t words[WORDS];
} words_t;
_Static_assert(sizeof(rsti_holder_t) == WORDS * sizeof(int64_t), "holder");
_Static_assert(sizeof(words_t) <= sizeof(((rsti_counter_value_t *)0)->spare), "holder");

void rsti_holder_write(rsti_counter_value_t *value, const rsti_holder_t *holder)
{
    words_t *to = (words_t *)(void *)value->spare;
    int64_t words[WORDS];
    memcpy(words, holder, sizeof words);
    /* Another process may have written there: whatever it was, odd now and even afterwards. */
    const int64_t version = rsti_wrap_add_i64(rsti_load_relaxed_i64(&to->version), 1) | 1;
    rsti_store_relaxed_i64(&to->version, version);
    rsti_release_fence();
    for (int i = 0; i < WORDS; i++) {
        rsti_store_relaxed_i64(&to->words[i], words[i]);
    }
    rsti_store_release_i64(&to->version, rsti_wrap_add_i64(version, 1));
}

_Bool rsti_holder_read(const rsti_counter_value_t *value, rsti_holder_t *holder)
{
    const words_t *from = (const words_t *)(const void *)value->spare;
    for (int read = 0; read < READS_MAX; read++) {
        int64_t words[WORDS];
        const int64_t before = rsti_load_acquire_i64(&from->version);
        for (int i = 0; i < WORDS; i++) {
            words[i] = rsti_load_relaxed_i64(&from->words[i]);
        }
        rsti_fence();
        if ((before & 1) == 0 && rsti_load_relaxed_i64(&from->version) == before) {
            memcpy(holder, words, sizeof words);
            return holder->id != 0;
        }
    }
    return 0;
}

void rsti_holder_set_address(rsti_holder_t *holder, const rsti_packed_address_t *address)
{
    memcpy(holder->address, address->bytes, sizeof holder->address);
    holder->port = address->family == AF_INET6 ? -(int64_t)address->port : address->port;
}

rsti_packed_address_t rsti_holder_address(const rsti_holder_t *holder)
{
    rsti_packed_address_t address = {0};
    if (holder->port != 0) {
        address.family = holder->port < 0 ? AF_INET6 : AF_INET;
        const uint64_t port = (uint64_t)holder->port;
        address.port = (uint16_t)(holder->port < 0 ? 0 - port : port);
        memcpy(address.bytes, holder->address, sizeof address.bytes);
    }
    return address;
}
