// A load generator for a server over HTTP/1.1 on loopback, which costs little beside the server.
#define _GNU_SOURCE

#include "CRawSQLite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    pthread_t thread;
    int port;
    int64_t first, count, received;
    const uint8_t *bytes;
    const int64_t *ends;
    int failed;
};

static int open_connection(int port) {
    int one = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static int send_all(int descriptor, const uint8_t *bytes, int64_t count) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, (size_t)count, MSG_NOSIGNAL);
        if (sent <= 0) return -1;
        bytes += sent;
        count -= sent;
    }
    return 0;
}

// Reads one response with a Content-Length. Returns its length, or -1 if it is not a success.
static int64_t receive(int descriptor, char *buffer, int64_t capacity) {
    int64_t used = 0, whole = -1;
    while (whole < 0 || used < whole) {
        ssize_t count = recv(descriptor, buffer + used, (size_t)(capacity - used - 1), 0);
        if (count <= 0) return -1;
        used += count;
        buffer[used] = 0;
        char *end = whole < 0 ? strstr(buffer, "\r\n\r\n") : NULL;
        if (!end) continue;
        char *length = strcasestr(buffer, "\r\ncontent-length:");
        if (!length || length > end || strncmp(buffer, "HTTP/1.1 200", 12)) return -1;
        whole = end + 4 - buffer + strtoll(length + 17, NULL, 10);
        if (whole >= capacity) return -1;
    }
    return whole;
}

static void *run(void *argument) {
    struct connection *connection = argument;
    const int64_t capacity = 1 << 22;
    char *buffer = malloc((size_t)capacity);
    int descriptor = open_connection(connection->port);
    connection->failed = !buffer || descriptor < 0;
    for (int64_t index = 0; index < connection->count && !connection->failed; index++) {
        int64_t request = connection->first + index;
        int64_t begin = request ? connection->ends[request - 1] : 0;
        int64_t length = -1;
        if (send_all(descriptor, connection->bytes + begin, connection->ends[request] - begin) == 0)
            length = receive(descriptor, buffer, capacity);
        connection->failed = length < 0;
        connection->received += length;
    }
    if (descriptor >= 0) close(descriptor);
    free(buffer);
    return NULL;
}

int64_t raw_http_load(int port, int64_t connections, int64_t each, const uint8_t *bytes, const int64_t *ends) {
    struct connection *all = calloc((size_t)connections, sizeof *all);
    if (!all) return -1;
    int64_t started = 0, received = 0;
    for (; started < connections; started++) {
        all[started] = (struct connection){
            .port = port, .first = started * each, .count = each, .bytes = bytes, .ends = ends};
        if (pthread_create(&all[started].thread, NULL, run, &all[started])) break;
    }
    int failed = started < connections;
    for (int64_t index = 0; index < started; index++) {
        pthread_join(all[index].thread, NULL);
        failed |= all[index].failed;
        received += all[index].received;
    }
    free(all);
    return failed ? -1 : received;
}
