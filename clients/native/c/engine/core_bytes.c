/* The core's bytecode, in the library itself. SIGNET_CORE is the file's path. */
__asm__(
    ".section .rodata\n"
    ".global signet_core_start\n"
    ".global signet_core_end\n"
    ".hidden signet_core_start\n"
    ".hidden signet_core_end\n"
    ".balign 16\n"
    "signet_core_start:\n"
    ".incbin \"" SIGNET_CORE "\"\n"
    "signet_core_end:\n"
    ".byte 0\n"
    ".previous\n");
