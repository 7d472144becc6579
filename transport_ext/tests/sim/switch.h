/* switch.h: switches from one stack to another: a few instructions on x86-64 and aarch64, with
 * calls that tell the address sanitizer. */
#ifndef RSTI_SIM_SWITCH_H
#define RSTI_SIM_SWITCH_H

#include <poll.h>
#include <stddef.h>

/* Saves the caller's registers on its stack and its stack pointer in *from, then continues where
 * the stack pointer "to" was saved. fake_stack: the sanitizer's handle of the stack that is left
 * (NULL: it is left for ever). stack and size: the stack that is entered (NULL: the scheduler's).
 */
void sim_switch(void **from, void *to, void **fake_stack, const void *stack, size_t size);
/* The first call on a new stack. */
void sim_switch_arrived(void *fake_stack);
/* A stack that starts in entry() when it is switched to. */
void *sim_switch_prepare(void *stack_end, void (*entry)(void));

/* posix.c: the system's own poll(). */
int sim_real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
