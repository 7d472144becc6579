/* atomics.h: the only file that names memory orders. Thin names over the compiler's atomics on
 * plain integers, because the memory is a mapped file that other languages share.
 *
 * Pairs: every *_release store is read by a *_acquire load. rsti_fence() is the store-load barrier
 * of the sleep protocol (wake.h): "publish, fence, look whether a thread sleeps" against "say that
 * I sleep, fence, look whether something was published". */
#ifndef RSTI_CONCURRENT_ATOMICS_H
#define RSTI_CONCURRENT_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Another thread may run between any two accesses to shared memory. The simulator (tests/sim)
 * builds these rooms with RSTI_SIM, and its seed decides at each access whether one does. */
#ifdef RSTI_SIM
extern int64_t rsti_sim_countdown;
void rsti_sim_preempt(void);
static inline void rsti_sim_point(void)
{
    if (--rsti_sim_countdown < 0) {
        rsti_sim_preempt();
    }
}
#else
#define rsti_sim_point() ((void)0)
#endif

#define RSTI_ATOMICS_FOR(suffix, type)                                                             \
    static inline type rsti_load_relaxed_##suffix(const type *from)                                \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_load_n(from, __ATOMIC_RELAXED);                                            \
    }                                                                                              \
    static inline type rsti_load_acquire_##suffix(const type *from)                                \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_load_n(from, __ATOMIC_ACQUIRE);                                            \
    }                                                                                              \
    static inline void rsti_store_relaxed_##suffix(type *to, type value)                           \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        __atomic_store_n(to, value, __ATOMIC_RELAXED);                                             \
    }                                                                                              \
    static inline void rsti_store_release_##suffix(type *to, type value)                           \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        __atomic_store_n(to, value, __ATOMIC_RELEASE);                                             \
    }                                                                                              \
    static inline type rsti_fetch_add_##suffix(type *to, type value)                               \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_fetch_add(to, value, __ATOMIC_ACQ_REL);                                    \
    }                                                                                              \
    static inline type rsti_exchange_##suffix(type *to, type value)                                \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_exchange_n(to, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                              \
    static inline type rsti_fetch_or_##suffix(type *to, type bits)                                 \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_fetch_or(to, bits, __ATOMIC_SEQ_CST);                                      \
    }                                                                                              \
    static inline bool rsti_cas_##suffix(type *to, type expected, type desired)                    \
    {                                                                                              \
        rsti_sim_point();                                                                          \
        return __atomic_compare_exchange_n(to, &expected, desired, false, __ATOMIC_ACQ_REL,        \
            __ATOMIC_ACQUIRE);                                                                     \
    }

RSTI_ATOMICS_FOR(i32, int32_t)
RSTI_ATOMICS_FOR(i64, int64_t)
RSTI_ATOMICS_FOR(u8, uint8_t)

/* For a counter with one writer: relaxed read, release write, no locked instruction. */
static inline void rsti_add_single_writer_i64(int64_t *to, int64_t value)
{
    rsti_sim_point();
    __atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + value, __ATOMIC_RELEASE);
}

/* Likewise, for readers that poll: a value that stays is not stored, so its line is not taken from
 * them. */
static inline void rsti_store_changed_i64(int64_t *to, int64_t value)
{
    rsti_sim_point();
    if (__atomic_load_n(to, __ATOMIC_RELAXED) != value) {
        __atomic_store_n(to, value, __ATOMIC_RELEASE);
    }
}

/* The thread sanitizer does not model fences. The words around ours are atomics themselves, so it
 * has nothing to report; only its warning that it cannot see the fences must go. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#define RSTI_TSAN_QUIET 1
#endif

static inline void rsti_fence(void)
{
    rsti_sim_point();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void rsti_release_fence(void)
{
    rsti_sim_point();
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void rsti_acquire_fence(void)
{
    rsti_sim_point();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

#ifdef RSTI_TSAN_QUIET
#pragma GCC diagnostic pop
#undef RSTI_TSAN_QUIET
#endif

/* Copies between private memory and shared memory that another side may write at the same time (the
 * body of a sequence lock, a label that is being reused). Relaxed word by word, so a torn copy is a
 * wrong value, found by the check that follows, and never undefined behaviour. */
static inline void rsti_copy_to_shared(uint8_t *shared, const void *from, size_t length)
{
    const uint8_t *source = (const uint8_t *)from;
    size_t i = 0;
    if (((uintptr_t)shared & 7) == 0) {
        for (; i + 8 <= length; i += 8) {
            uint64_t word;
            memcpy(&word, source + i, sizeof word);
            rsti_sim_point();
            __atomic_store_n((uint64_t *)(void *)(shared + i), word, __ATOMIC_RELAXED);
        }
    }
    for (; i < length; i++) {
        rsti_sim_point();
        __atomic_store_n(shared + i, source[i], __ATOMIC_RELAXED);
    }
}

static inline void rsti_zero_shared(uint8_t *shared, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        rsti_sim_point();
        __atomic_store_n(shared + i, (uint8_t)0, __ATOMIC_RELAXED);
    }
}

static inline void rsti_copy_from_shared(void *to, const uint8_t *shared, size_t length)
{
    uint8_t *target = (uint8_t *)to;
    size_t i = 0;
    if (((uintptr_t)shared & 7) == 0) {
        for (; i + 8 <= length; i += 8) {
            rsti_sim_point();
            uint64_t word = __atomic_load_n((const uint64_t *)(const void *)(shared + i),
                __ATOMIC_RELAXED);
            memcpy(target + i, &word, sizeof word);
        }
    }
    for (; i < length; i++) {
        rsti_sim_point();
        target[i] = __atomic_load_n(shared + i, __ATOMIC_RELAXED);
    }
}

static inline void rsti_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
