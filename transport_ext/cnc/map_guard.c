/* map_guard.c: see map_guard.h. The handler may interrupt any code, so it only loads and stores
 * atomic words and calls mmap, which is one system call. */
#include "cnc/map_guard.h"

#include "concurrent/atomics.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guard_t {
    int64_t base; /* 0: free; -1: being filled; the other fields are valid while it is positive. All
                   * are atomic: a place may be taken again while another thread looks at it. */
    int64_t length;
    int32_t protection;
    int32_t is_damaged;
} guard_t;

static guard_t guards[RSTI_MAP_GUARDS_MAX];
static int64_t damaged_count;
static int64_t page_size;
static struct sigaction before;
static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

static guard_t *guard_at(int64_t address)
{
    for (size_t i = 0; i < RSTI_MAP_GUARDS_MAX; i++) {
        guard_t *guard = &guards[i];
        const int64_t base = rsti_load_acquire_i64(&guard->base);
        if (base > 0 && address >= base && address - base < rsti_load_acquire_i64(&guard->length)
            && rsti_load_relaxed_i64(&guard->base) == base) {
            return guard;
        }
    }
    return NULL;
}

static bool replace_page(int64_t address)
{
    guard_t *guard = guard_at(address);
    if (guard == NULL) {
        return false;
    }
    const int saved = errno;
    void *page = (void *)(intptr_t)(address & ~(page_size - 1));
    const bool is_replaced = mmap(page, (size_t)page_size,
                                 rsti_load_relaxed_i32(&guard->protection),
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
        != MAP_FAILED;
    if (is_replaced && rsti_exchange_i32(&guard->is_damaged, 1) == 0) {
        (void)rsti_fetch_add_i64(&damaged_count, 1);
    }
    errno = saved;
    return is_replaced;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    if (info->si_code == BUS_ADRERR && replace_page((int64_t)(intptr_t)info->si_addr)) {
        return;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        /* The faulting instruction runs again, and then the signal ends the process. */
        struct sigaction fallback = {.sa_handler = SIG_DFL};
        (void)sigaction(SIGBUS, &fallback, NULL);
    }
}

static void install_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    page_size = (int64_t)sysconf(_SC_PAGESIZE);
    (void)sigaction(SIGBUS, &action, &before);
}

/* In the simulator many processes share one table, some of them die without a word, and no file is
 * cut: the accesses here would make a run depend on where the system puts mappings. */
#ifdef RSTI_SIM
#define GUARDS_ARE_USED 0
#else
#define GUARDS_ARE_USED 1
#endif

void rsti_map_guard_add(const uint8_t *base, size_t length, bool read_only)
{
    if (!GUARDS_ARE_USED) {
        return;
    }
    (void)pthread_once(&handler_once, install_handler);
    for (size_t i = 0; i < RSTI_MAP_GUARDS_MAX; i++) {
        guard_t *guard = &guards[i];
        if (rsti_load_relaxed_i64(&guard->base) == 0 && rsti_cas_i64(&guard->base, 0, -1)) {
            rsti_store_release_i64(&guard->length, (int64_t)length);
            rsti_store_release_i32(&guard->protection,
                read_only ? PROT_READ : PROT_READ | PROT_WRITE);
            rsti_store_release_i32(&guard->is_damaged, 0);
            rsti_store_release_i64(&guard->base, (int64_t)(intptr_t)base);
            return;
        }
    }
}

static guard_t *guard_of(const uint8_t *base)
{
    for (size_t i = 0; GUARDS_ARE_USED && i < RSTI_MAP_GUARDS_MAX; i++) {
        if (rsti_load_acquire_i64(&guards[i].base) == (int64_t)(intptr_t)base) {
            return &guards[i];
        }
    }
    return NULL;
}

void rsti_map_guard_remove(const uint8_t *base)
{
    guard_t *guard = guard_of(base);
    if (guard != NULL) {
        rsti_store_release_i64(&guard->base, 0);
    }
}

int64_t rsti_map_guard_damaged(void)
{
    return rsti_load_relaxed_i64(&damaged_count);
}

bool rsti_map_guard_is_damaged(const uint8_t *base)
{
    const guard_t *guard = guard_of(base);
    return guard != NULL && rsti_load_acquire_i32(&guard->is_damaged) != 0;
}
