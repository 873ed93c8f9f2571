#ifndef CONCURRENCY_TRIPWIRE_H
#define CONCURRENCY_TRIPWIRE_H

#include <stdbool.h>
#include <stdint.h>

// Counts the jobs that a thread hands to Swift's global pool while it drains a simulation. A simulated program has
// no business there: a job that goes there runs beside the simulation, in real time and in no order.
//
// The hook passes every job on: it watches, and changes nothing.

/// Installs the hook, once for the process. False when the runtime has no such hook, or another one is installed.
bool tripwire_install(void);

/// From now on the calling thread's jobs for the global pool are counted. Calls nest.
void tripwire_enter(void);

/// Ends the innermost `tripwire_enter`, and returns how many jobs it counted.
uint64_t tripwire_leave(void);

#endif
