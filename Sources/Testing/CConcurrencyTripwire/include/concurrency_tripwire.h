#ifndef CONCURRENCY_TRIPWIRE_H
#define CONCURRENCY_TRIPWIRE_H

#include <stdbool.h>
#include <stdint.h>

// Counts the jobs that a thread hands to Swift's global pool while it runs a simulation. A simulated program must not
// use that pool: such a job runs beside the simulation, in real time and in an unpredictable order.
//
// The hook forwards every job unchanged.

/// Installs the hook, once per process. Returns false when the runtime has no such hook, or another one is installed.
bool tripwire_install(void);

/// Starts counting the calling thread's jobs for the global pool. Calls can be nested.
void tripwire_enter(void);

/// Ends the innermost `tripwire_enter` and returns the number of jobs that it counted.
uint64_t tripwire_leave(void);

#endif
