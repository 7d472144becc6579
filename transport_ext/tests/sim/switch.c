#include "tests/sim/switch.h"

#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#include <sanitizer/common_interface_defs.h>
static const void *scheduler_stack;
static size_t scheduler_stack_size;
static int is_leaving_scheduler;
#endif

void sim_switch_registers(void **from, void *to);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl sim_switch_registers\n"
        ".hidden sim_switch_registers\n"
        ".type sim_switch_registers,@function\n"
        "sim_switch_registers:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size sim_switch_registers,.-sim_switch_registers\n");
#define KEPT_WORDS 6

void *sim_switch_prepare(void *stack_end, void (*entry)(void))
{
    /* On entry the stack must be 16-byte aligned less the return address. */
    uintptr_t *top = (uintptr_t *)((uintptr_t)stack_end & ~(uintptr_t)15) - 1;
    *top = 0; /* entry() never returns */
    *--top = (uintptr_t)entry;
    top -= KEPT_WORDS;
    memset(top, 0, KEPT_WORDS * sizeof *top);
    return top;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl sim_switch_registers\n"
        ".hidden sim_switch_registers\n"
        ".type sim_switch_registers,%function\n"
        "sim_switch_registers:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    ret\n"
        ".size sim_switch_registers,.-sim_switch_registers\n");
#define KEPT_WORDS 20
#define LINK_WORD 11 /* x30: the return address of the switch */

void *sim_switch_prepare(void *stack_end, void (*entry)(void))
{
    uintptr_t *top = (uintptr_t *)((uintptr_t)stack_end & ~(uintptr_t)15) - KEPT_WORDS;
    memset(top, 0, KEPT_WORDS * sizeof *top);
    top[LINK_WORD] = (uintptr_t)entry;
    return top;
}
#else
#error "the simulator knows x86-64 and aarch64"
#endif

void sim_switch_arrived(void *fake_stack)
{
#ifdef WITH_ASAN
    const void *left = NULL;
    size_t left_size = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &left, &left_size);
    if (is_leaving_scheduler) {
        scheduler_stack = left;
        scheduler_stack_size = left_size;
    }
#else
    (void)fake_stack;
#endif
}

void sim_switch(void **from, void *to, void **fake_stack, const void *stack, size_t size)
{
#ifdef WITH_ASAN
    is_leaving_scheduler = stack != NULL;
    __sanitizer_start_switch_fiber(fake_stack, stack != NULL ? stack : scheduler_stack,
        stack != NULL ? size : scheduler_stack_size);
#else
    (void)stack;
    (void)size;
#endif
    sim_switch_registers(from, to);
    sim_switch_arrived(fake_stack == NULL ? NULL : *fake_stack);
}
