/* A policy for `sidestep serve` in plain C: turns towards the goal and drives there.
 *
 *   cc -O2 -o client client.c -lm
 *   ./client 127.0.0.1:5577          or          ./client unix:/tmp/sidestep.sock
 *
 * The protocol is in docs/remote.md. Messages are msgpack maps after a length of four bytes (big-endian).
 * This file reads every type that the benchmark sends, and writes the few that a policy needs. If a token is required,
 * it is taken from SIDESTEP_TOKEN. */
#include <math.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT (64u << 20) /* longest message that is read, bytes */

typedef struct { const uint8_t *at, *end; } Reader;

static void fail(const char *why) { fprintf(stderr, "client: %s\n", why); exit(1); }

static uint64_t take(Reader *r, int bytes) { /* a big-endian number */
    uint64_t value = 0;
    if (r->end - r->at < bytes) fail("a message that ends too early");
    while (bytes--) value = value << 8 | *r->at++;
    return value;
}

/* The head of the next value: 'm' map, 'a' array, 's' text, 'b' bytes (count in *n), 'd' number (in *x), 'n' nothing. */
static char head(Reader *r, uint64_t *n, double *x) {
    uint8_t tag = (uint8_t)take(r, 1);
    *n = 0; *x = 0;
    if (tag <= 0x7f) return *x = tag, 'd';
    if (tag <= 0x8f) return *n = tag & 15, 'm';
    if (tag <= 0x9f) return *n = tag & 15, 'a';
    if (tag <= 0xbf) return *n = tag & 31, 's';
    if (tag >= 0xe0) return *x = (int8_t)tag, 'd';
    switch (tag) {
    case 0xc0: case 0xc2: return 'n'; /* nil, false */
    case 0xc3: return *x = 1, 'd';    /* true */
    case 0xc4: case 0xc5: case 0xc6: return *n = take(r, 1 << (tag - 0xc4)), 'b';
    case 0xca: { uint32_t bits = (uint32_t)take(r, 4); float f; memcpy(&f, &bits, 4); return *x = f, 'd'; }
    case 0xcb: { uint64_t bits = take(r, 8); memcpy(x, &bits, 8); return 'd'; }
    case 0xcc: case 0xcd: case 0xce: case 0xcf: return *x = (double)take(r, 1 << (tag - 0xcc)), 'd';
    case 0xd0: case 0xd1: case 0xd2: case 0xd3: { /* signed: shift the sign up, and back */
        int bits = 8 << (tag - 0xd0);
        return *x = (double)((int64_t)(take(r, bits / 8) << (64 - bits)) >> (64 - bits)), 'd'; }
    case 0xd9: case 0xda: case 0xdb: return *n = take(r, 1 << (tag - 0xd9)), 's';
    case 0xdc: case 0xdd: return *n = take(r, 2 << (tag - 0xdc)), 'a';
    case 0xde: case 0xdf: return *n = take(r, 2 << (tag - 0xde)), 'm';
    }
    fail("msgpack that the protocol does not use");
    return 0;
}

static void skip(Reader *r) {
    uint64_t n, left = 1; double x; /* left: values still to be passed over */
    while (left--) {
        char kind = head(r, &n, &x);
        if (kind == 'm') left += 2 * n;
        else if (kind == 'a') left += n;
        else if ((uint64_t)(r->end - r->at) < n) fail("a message that ends too early");
        else r->at += n; /* text and bytes; of all others the count is 0 */
    }
}

/* Move to the value under `key` of the map that `map` is at; 0 if there is none. */
static int find(Reader map, const char *key, Reader *value) {
    uint64_t count, n; double x;
    if (head(&map, &count, &x) != 'm') return 0;
    while (count--) {
        if (head(&map, &n, &x) != 's' || (uint64_t)(map.end - map.at) < n) fail("a key that is not text");
        int same = n == strlen(key) && !memcmp(map.at, key, n);
        map.at += n;
        if (same) return *value = map, 1;
        skip(&map);
    }
    return 0;
}

static double number(Reader map, const char *key) {
    Reader value; uint64_t n; double x;
    if (!find(map, key, &value) || head(&value, &n, &x) != 'd') fail("a number is missing");
    return x;
}

static const char *text(Reader map, const char *key) { /* valid until the next call */
    static char buffer[512];
    Reader value; uint64_t n; double x;
    if (!find(map, key, &value) || head(&value, &n, &x) != 's') return "";
    if (n >= sizeof buffer) n = sizeof buffer - 1;
    if ((uint64_t)(value.end - value.at) < n) fail("a message that ends too early");
    memcpy(buffer, value.at, n);
    return buffer[n] = 0, buffer;
}

static uint8_t out[1024]; /* the message that is being written */
static size_t used;

static void put(uint64_t value, int bytes) {
    if (used + bytes > sizeof out) fail("a message too long to send");
    while (bytes--) out[used++] = (uint8_t)(value >> 8 * bytes);
}
static void put_map(int count) { used = 4; put(0x80 | count, 1); } /* starts a message, behind room for its length */
static void put_array(int count) { put(0x90 | count, 1); }
static void put_text(const char *s) { /* of at most 255 bytes */
    if (strlen(s) > 255) fail("a text too long to send");
    for (put(0xd9, 1), put(strlen(s), 1); *s; s++) put((uint8_t)*s, 1);
}
static void put_int(uint32_t value) { put(0xce, 1); put(value, 4); }
static void put_double(double x) { uint64_t bits; memcpy(&bits, &x, 8); put(0xcb, 1); put(bits, 8); }

static void send_message(int fd) {
    size_t length = used, sent = 0;
    used = 0, put(length - 4, 4);
    while (sent < length) {
        ssize_t n = write(fd, out + sent, length - sent);
        if (n <= 0) fail("the benchmark is gone");
        sent += (size_t)n;
    }
}

static void fill(int fd, uint8_t *to, size_t count) {
    while (count) {
        ssize_t n = read(fd, to, count);
        if (n <= 0) fail("the benchmark is gone");
        to += n; count -= (size_t)n;
    }
}

static Reader receive(int fd) { /* valid until the next call */
    static uint8_t *body;
    uint8_t size[4];
    fill(fd, size, 4);
    uint32_t length = (uint32_t)size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3];
    if (!length || length > LIMIT || !(body = (uint8_t *)realloc(body, length))) fail("a message of a strange length");
    fill(fd, body, length);
    return (Reader){body, body + length};
}

static int connect_to(char *address) {
    int fd;
    if (!strncmp(address, "unix:", 5)) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        strncpy(name.sun_path, address + 5, sizeof name.sun_path - 1);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&name, sizeof name)) fail("nobody listens there");
        return fd;
    }
    char *colon = strrchr(address, ':');
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
    if (!colon) fail("an address is HOST:PORT or unix:PATH");
    *colon = 0; /* what is before it is the host */
    if (getaddrinfo(address, colon + 1, &wanted, &found)) fail("unknown host");
    fd = socket(found->ai_family, found->ai_socktype, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen)) fail("nobody listens there");
    return freeaddrinfo(found), fd;
}

static void act(int fd, Reader sense) { /* turn to the goal; drive when it lies ahead */
    Reader robot, goal; uint64_t n; double gx, gy;
    if (!find(sense, "robot", &robot) || !find(sense, "goal", &goal) || head(&goal, &n, &gx) != 'a' || n != 2
        || head(&goal, &n, &gx) != 'd' || head(&goal, &n, &gy) != 'd') fail("an observation without robot or goal");
    double turn = atan2(gy - number(robot, "y"), gx - number(robot, "x")) - number(robot, "heading");
    turn = atan2(sin(turn), cos(turn));
    put_map(4);
    put_text("type"); put_text("act"); put_text("id"); put_int((uint32_t)number(sense, "id"));
    put_text("command"); put_text("velocity");
    put_text("values"); put_array(2); put_double(fabs(turn) < 0.5 ? 1.0 : 0.0); put_double(2.0 * turn);
    send_message(fd);
}

int main(int argc, char **argv) {
    if (argc != 2) fail("usage: client HOST:PORT | unix:PATH");
    int fd = connect_to(argv[1]);
    const char *token = getenv("SIDESTEP_TOKEN");
    put_map(7);
    put_text("type"); put_text("hello"); put_text("sidestep"); put_int(1);
    put_text("role"); put_text("policy"); put_text("name"); put_text("c_example");
    put_text("needs"); put_array(1); put_text("goal"); put_text("dynamics"); put_text("unicycle");
    put_text("token"); put_text(token ? token : "");
    send_message(fd);
    for (;;) {
        Reader message = receive(fd);
        const char *type = text(message, "type");
        if (!strcmp(type, "sense")) act(fd, message);
        else if (!strcmp(type, "episode")) {
            put_map(2);
            put_text("type"); put_text("ready"); put_text("id"); put_int((uint32_t)number(message, "id"));
            send_message(fd);
        } else if (!strcmp(type, "result")) printf("%s\n", text(message, "outcome"));
        else if (!strcmp(type, "refused")) fail(text(message, "reason"));
        else if (!strcmp(type, "bye")) return 0;
    }
}
