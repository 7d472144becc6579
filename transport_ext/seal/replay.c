/* replay.c: see replay.h. */
#include "seal/replay.h"

#include "util/assert.h"

#include <string.h>

#define WORDS (RSTI_REPLAY_WINDOW / 64)

void rsti_replay_init(rsti_replay_t *replay)
{
    *replay = (rsti_replay_t){0};
}

static uint64_t *word_of(rsti_replay_t *replay, uint64_t counter)
{
    return &replay->seen[counter / 64 % WORDS];
}

static uint64_t bit_of(uint64_t counter)
{
    return UINT64_C(1) << (counter % 64);
}

/* The last counter has no successor, so it is never taken. */
bool rsti_replay_is_fresh(const rsti_replay_t *replay, uint64_t counter)
{
    if (counter == UINT64_MAX) {
        return false;
    }
    if (counter >= replay->next) {
        return true;
    }
    return replay->next - counter <= RSTI_REPLAY_WINDOW
        && (replay->seen[counter / 64 % WORDS] & bit_of(counter)) == 0;
}

/* The bits of counters that were skipped still are those of RSTI_REPLAY_WINDOW before. */
static void skip(rsti_replay_t *replay, uint64_t counter)
{
    if (counter - replay->next >= RSTI_REPLAY_WINDOW) {
        memset(replay->seen, 0, sizeof replay->seen);
        return;
    }
    for (uint64_t at = replay->next; at < counter; at++) {
        *word_of(replay, at) &= ~bit_of(at);
    }
}

void rsti_replay_note(rsti_replay_t *replay, uint64_t counter)
{
    RST_ASSERT(rsti_replay_is_fresh(replay, counter));
    if (counter >= replay->next) {
        skip(replay, counter);
        replay->next = counter + 1;
    }
    *word_of(replay, counter) |= bit_of(counter);
}
