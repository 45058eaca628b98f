/* The core's bytecode, in the library itself. SIGNET_CORE is the file's path. */
#ifdef __APPLE__
#define SECTION ".section __TEXT,__const\n"
#define HIDDEN ".private_extern "
#define NAME "_signet_core_"
#define PREVIOUS ".text\n"
#elif defined(_WIN32)
#define SECTION ".section .rdata,\"dr\"\n"
/* A .def file names what is exported. */
#define HIDDEN "#"
#define NAME "signet_core_"
#define PREVIOUS ".text\n"
#else
#define SECTION ".section .rodata\n"
#define HIDDEN ".hidden "
#define NAME "signet_core_"
#define PREVIOUS ".previous\n"
#endif

__asm__(
    SECTION
    ".global " NAME "start\n"
    ".global " NAME "end\n"
    HIDDEN NAME "start\n"
    HIDDEN NAME "end\n"
    ".balign 16\n"
    NAME "start:\n"
    ".incbin \"" SIGNET_CORE "\"\n"
    NAME "end:\n"
    ".byte 0\n"
    PREVIOUS);
