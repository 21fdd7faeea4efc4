/* WebAssembly has no setjmp. The libraries jump only when memory runs out: that traps, and ends the instance. */
#ifndef PARLEY_SETJMP_H
#define PARLEY_SETJMP_H
typedef int jmp_buf[1];
#define setjmp(environment) 0
#define longjmp(environment, value) __builtin_trap()
#endif
