#ifndef TOMBOLO_LIBFUZZER_H
#define TOMBOLO_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// The entry point of libFuzzer for a program with a main function: runs `test_one_input` until a limit among the
/// arguments is reached. Returns the status to exit with.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test_one_input)(const uint8_t *data, size_t size));

#endif
