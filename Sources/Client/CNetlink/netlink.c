#include "CNetlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int tombolo_netlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

/* The kernel answers a dump request whose body is a zeroed rtgenmsg, ifinfomsg or rtmsg; the largest is sent. */
static int request(int descriptor, uint16_t type, uint32_t sequence, size_t body) {
    struct {
        struct nlmsghdr header;
        union {
            struct ifinfomsg link;
            struct rtmsg route;
        } body;
    } message;
    memset(&message, 0, sizeof message);
    message.header.nlmsg_len = NLMSG_LENGTH(body);
    message.header.nlmsg_type = type;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.header.nlmsg_seq = sequence;
    if (send(descriptor, &message, message.header.nlmsg_len, 0) < 0) return -errno;
    return 0;
}

int tombolo_netlink_request_links(int descriptor, uint32_t sequence) {
    return request(descriptor, RTM_GETLINK, sequence, sizeof(struct ifinfomsg));
}

int tombolo_netlink_request_routes(int descriptor, uint32_t sequence) {
    return request(descriptor, RTM_GETROUTE, sequence, sizeof(struct rtmsg));
}

int tombolo_wake_open(void) {
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wake < 0 ? -errno : wake;
}

void tombolo_wake_ring(int wake) {
    uint64_t one = 1;
    /* It only fails when it has been rung very often, and then it is readable already. */
    ssize_t ignored = write(wake, &one, sizeof one);
    (void)ignored;
}

ssize_t tombolo_netlink_receive(int descriptor, int wake, void *buffer, size_t capacity, int milliseconds) {
    /* poll passes over negative descriptors. */
    struct pollfd wait[2] = {{.fd = descriptor, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
    int ready = poll(wait, 2, milliseconds);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    if (ready == 0 || wait[0].revents == 0) return 0;
    struct sockaddr_nl sender;
    socklen_t length = sizeof sender;
    memset(&sender, 0, sizeof sender);
    ssize_t count =
        recvfrom(descriptor, buffer, capacity, MSG_DONTWAIT, (struct sockaddr *)&sender, &length);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    /* Anybody on the machine may send to the socket: only the kernel, whose port is 0, is believed. */
    if (sender.nl_pid != 0) return 0;
    return count;
}
