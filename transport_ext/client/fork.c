/* fork.c: see fork.h. The child shares the mappings but has no conductor thread, and a thread that
 * does not exist there may hold a lock. So the child may only free memory. The counter is raised in
 * the child before fork returns. */
#include "client/fork.h"

#include "util/error.h"
#include "util/int_math.h"

#include <pthread.h>

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
