#ifndef TOMBOLO_LIBFUZZER_H
#define TOMBOLO_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer in a program that has its own main function, until a limit among the arguments is reached. Returns
/// the exit status.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test_one_input)(const uint8_t *data, size_t size));

#endif
