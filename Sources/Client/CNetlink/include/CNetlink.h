#ifndef TOMBOLO_CNETLINK_H
#define TOMBOLO_CNETLINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The few calls and numbers of rtnetlink that Swift cannot reach: macros and variadic structs of the kernel's headers. */

/* Opens a route socket that hears of links and of routes. Returns a descriptor, or -errno. */
int tombolo_netlink_open(void);

/* Asks the kernel to list its links (RTM_GETLINK) or routes (RTM_GETROUTE). Returns 0, or -errno. */
int tombolo_netlink_request_links(int descriptor, uint32_t sequence);
int tombolo_netlink_request_routes(int descriptor, uint32_t sequence);

/* Reads one datagram, waiting for at most `milliseconds` (-1: forever), or until `wake` can be read (-1: nothing
   wakes it). Returns its length, 0 when nothing came, or -errno. What does not come from the kernel is skipped. */
ssize_t tombolo_netlink_receive(int descriptor, int wake, void *buffer, size_t capacity, int milliseconds);

/* A descriptor that becomes readable, and stays so, once it is rung. Returns it, or -errno. */
int tombolo_wake_open(void);
void tombolo_wake_ring(int wake);

#endif
