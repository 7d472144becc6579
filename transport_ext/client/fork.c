/* fork.c: handles made before a fork are dead in the child.
 *
 * The child shares the mappings but not the conductor thread, and a lock may be held by a thread
 * that does not exist there; so nothing but freeing memory is allowed, and the one thing that tells
 * is this counter, raised in the child before fork returns. */
#include "client/internal.h"

#include "util/error.h"

int32_t rsti_fork_generation;

static void on_fork_in_child(void)
{
    rsti_store_relaxed_i32(&rsti_fork_generation,
        rsti_wrap_add_i32(rsti_load_relaxed_i32(&rsti_fork_generation), 1));
}

static void register_handler(void)
{
    (void)pthread_atfork(NULL, NULL, on_fork_in_child);
}

void rsti_fork_guard_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, register_handler);
}

int rsti_set_forked_error(const char *what)
{
    return RST_SET_ERR(RST_EFORKED,
        "this %s was made before fork: it is dead in the child, open a new client there", what);
}
