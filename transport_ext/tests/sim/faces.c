/* faces.c: rolls what applications do besides publishing and reading in the plain way: in a share
 * of the worlds, which are else as they were. */
#include "tests/sim/rolls.h"

static bool maybe(double probability)
{
    return sim_chance(DICE_FACES, probability);
}

static void roll_readings(void)
{
    for (int32_t i = 0; i < cast.subscriber_count; i++) {
        if (maybe(0.7)) {
            cast.subscribers[i].reading = maybe(0.5) ? READING_WHOLE : READING_RAW;
        }
    }
}

void sim_roll_faces(void)
{
    if (maybe(0.15)) {
        sim_count("run: readers read in other ways");
        roll_readings();
    }
}
