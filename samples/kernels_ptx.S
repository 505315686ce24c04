/* kernels.ptx as a C string. */
    .section .rodata
    .globl sample_kernels
    .type sample_kernels, @object
sample_kernels:
    .incbin "kernels.ptx"
    .byte 0
    .size sample_kernels, . - sample_kernels
    .section .note.GNU-stack, "", @progbits
