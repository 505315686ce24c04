/* The exported dlsym. When the handle is RTLD_NEXT or RTLD_DEFAULT, glibc finds the caller by the return
 * address on the stack. So a call that we do not answer ourselves is passed on by a jump, with the stack as the
 * caller left it. A C function could not do that. */

#if defined(__x86_64__)
    .text
    .globl ws_dlsym, dlsym_of_first_glibc
    .type ws_dlsym, @function
ws_dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx             /* third argument: the return address, which identifies the caller */
    call ws_dlsym_answer
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rdx, %rdx                /* is dlsym_answer.answered set? */
    jz 1f
    ret
1:  jmp *%rax
    .cfi_endproc
    .size ws_dlsym, . - ws_dlsym
    .set dlsym_of_first_glibc, ws_dlsym
    .symver ws_dlsym, dlsym@@GLIBC_2.34
    .symver dlsym_of_first_glibc, dlsym@GLIBC_2.2.5

#elif defined(__aarch64__)
    .text
    .globl ws_dlsym, dlsym_of_first_glibc
    .type ws_dlsym, %function
ws_dlsym:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    stp x0, x1, [sp, #16]
    mov x29, sp
    mov x2, x30
    bl ws_dlsym_answer
    mov x16, x0
    mov x17, x1
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    .cfi_restore 29
    .cfi_restore 30
    cbz x17, 1f
    mov x0, x16
    ret
1:  br x16
    .cfi_endproc
    .size ws_dlsym, . - ws_dlsym
    .set dlsym_of_first_glibc, ws_dlsym
    .symver ws_dlsym, dlsym@@GLIBC_2.34
    .symver dlsym_of_first_glibc, dlsym@GLIBC_2.17
#else
#error "wallshim knows x86-64 and aarch64"
#endif

    .section .note.GNU-stack, "", %progbits
