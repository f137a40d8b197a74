/* Forbidden actions, one a function: each sets y[0] to 1 where it could be done.
 *
 * `x` holds what the parent knows and these must not reach: the port that it listens on, and the
 * number of its process.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PROBE(name) \
    void name(float *y, const float *x, int32_t part, int32_t parts); \
    void name(float *y, const float *x, int32_t part, int32_t parts)
#define DONE_IF(condition) y[0] = (condition) ? 1.0f : 0.0f; (void)x, (void)part, (void)parts

PROBE(write_an_input)
{
    ((volatile float *)x)[0] = 1.0f;
    DONE_IF(1);
}

PROBE(read_behind)
{
    DONE_IF(((volatile float *)y)[4096] == 0.0f);
}

PROBE(write_before)
{
    ((volatile float *)y)[-1] = 0.0f;
    DONE_IF(1);
}

PROBE(ask_the_system)
{
    DONE_IF(syscall(SYS_getppid) >= 0);
}

PROBE(take_memory)
{
    void *at = mmap(NULL, 256UL << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DONE_IF(at != MAP_FAILED);
}

PROBE(open_a_file)
{
    DONE_IF(open("/", O_RDONLY) >= 0);
}

PROBE(read_a_file)
{
    DONE_IF(access("/proc/self/mem", R_OK) == 0);
}

PROBE(signal_the_parent)
{
    DONE_IF(kill((pid_t)x[1], 0) == 0);
}

PROBE(connect_to_the_parent)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)x[0]), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    DONE_IF(connect(fd, (const struct sockaddr *)&to, sizeof to) == 0);
}

PROBE(take_long)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec - start.tv_sec + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < 1.0);
    DONE_IF(1);
}
