/* The process of a test program: its lines and its memory. */
#ifndef SIGNET_TEST_PROCESS_H
#define SIGNET_TEST_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* Lines end with a line feed on every system. */
void process_start(void);
/* The next line of the input, valid until the next call. NULL at its end. */
char *process_read_line(void);
void process_wipe_line(void);
/* Counts occurrences of the bytes, which arrive inverted, in all of this process's memory that can be written. */
size_t process_count(const uint8_t *inverted, size_t length);
/* The resident memory of the process. */
long process_kilobytes(void);

/* Runs the function in a thread whose stack has this size, and waits for its end. */
void process_run_on_stack(size_t bytes, void *(*function)(void *), void *argument);

#endif
