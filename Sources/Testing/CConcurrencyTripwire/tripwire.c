#include "concurrency_tripwire.h"

#include <pthread.h>
#include <stddef.h>

typedef __attribute__((swiftcall)) void (*enqueue_original)(void *job);
typedef __attribute__((swiftcall)) void (*enqueue_hook)(void *job, enqueue_original original);

// A symbol of the runtime that is not public API. It is weak, so that the program links with a runtime without it.
extern enqueue_hook swift_task_enqueueGlobal_hook __attribute__((weak));

#define MAXIMUM_DEPTH 8

static _Thread_local unsigned depth;
static _Thread_local uint64_t counts[MAXIMUM_DEPTH + 1];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool installed;

static __attribute__((swiftcall)) void watch(void *job, enqueue_original original) {
    if (depth > 0) counts[depth] += 1;
    original(job);
}

static void install(void) {
    if (&swift_task_enqueueGlobal_hook == NULL || swift_task_enqueueGlobal_hook != NULL) return;
    swift_task_enqueueGlobal_hook = watch;
    installed = true;
}

bool tripwire_install(void) {
    pthread_once(&once, install);
    return installed;
}

void tripwire_enter(void) {
    if (depth < MAXIMUM_DEPTH) depth += 1;
    counts[depth] = 0;
}

uint64_t tripwire_leave(void) {
    if (depth == 0) return 0;
    uint64_t count = counts[depth];
    depth -= 1;
    return count;
}
