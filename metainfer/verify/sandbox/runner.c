/* The process that runs a candidate kernel, and nothing else.
 *
 *     runner LIBRARY SYMBOL MEMORY ARENA LAYERS CPU
 *
 * MEMORY is a descriptor of shared memory, mapped here once as ARENA bytes of which none is
 * accessible. Each order on standard input is one run: the buffers to open in that memory, the
 * arguments of the call, and which parts to call in which order. The words on standard output
 * (`ready`, `mapped`, `done`) tell the parent only when to look; they carry no result. `error ...`
 * is a fault of this program's own work. The library is loaded before the sandbox closes; after
 * that no memory is mapped, no file is open but the two pipes, and no thread can start.
 *
 * LAYERS is a sum of the LAYER_ constants. The word `ready` is followed by the layers in force: where
 * the kernel lacks one (namespaces in a container, say) the parent decides what that means.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAYER_NAMESPACES = 1, LAYER_LIMITS = 2, LAYER_SECCOMP = 4, LAYER_READ_ONLY = 8, LAYER_GUARD = 16 };

#define MAX_ARGUMENTS 64
#define MAX_WORDS 1024
#define NOBODY 65534
#define STACK_AND_SLACK (16UL << 20)

/* The header of an order, then its buffers, arguments and calls. */
struct order {
    int64_t words, buffers, arguments, calls;
    int64_t tokens, seqs, vectors[6]; /* a batch: buffers that its pointers stand for */
};
struct buffer {
    int64_t offset, length, delta, writable;
};
struct argument {
    int64_t kind, value;
};
struct call {
    int64_t part, parts;
};
enum { INTEGER, BUFFER, BATCH };

/* `struct mi_batch` of the engine. */
struct batch {
    int32_t tokens, seqs;
    const void *vectors[6];
};

/* Integers and pointers alike travel in 64-bit slots in the C calling conventions of Linux, and a
 * callee that takes fewer ignores the rest. */
typedef int64_t w;
typedef void kernel(w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
    w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
    w, w, w);

static char *arena, *batch_page;
static size_t arena_bytes, page;
static unsigned layers;

static void say(const char *text)
{
    const size_t length = strlen(text);
    if (write(1, text, length) != (ssize_t)length)
        _exit(1);
}

static void fail(const char *what)
{
    say("error ");
    say(what);
    say("\n");
    _exit(1);
}

static void *reserve(size_t bytes, int flags, int fd)
{
    void *at = mmap(NULL, bytes, PROT_NONE, flags, fd, 0);
    if (at == MAP_FAILED)
        fail("cannot reserve memory for a kernel's buffers");
    return at;
}

static void protect(void *at, size_t bytes, int protection)
{
    if (mprotect(at, bytes, protection))
        fail("cannot protect a kernel's buffers");
}

static void map_memory(int memory)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    arena = reserve(arena_bytes, MAP_SHARED | MAP_NORESERVE, memory);
    if (!(layers & LAYER_GUARD))
        protect(arena, arena_bytes, PROT_READ | PROT_WRITE);
    char *pages = reserve(3 * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    batch_page = pages + page;
}

/* Become the first process of namespaces without network, where the system lets us. The process
 * that started stays outside and ends as its child does. */
static unsigned enter_namespaces(void)
{
    const int apart = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (unshare(apart) && unshare(apart | CLONE_NEWUSER))
        return 0;
    const pid_t inner = fork();
    if (inner < 0)
        fail("cannot start a process in new namespaces");
    if (inner == 0)
        return LAYER_NAMESPACES;
    int status;
    while (waitpid(inner, &status, 0) < 0)
        if (errno != EINTR)
            _exit(1);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

/* No file system, no user and no capability: the folder that becomes the root lists nothing but the
 * descriptors of this process. */
static unsigned give_up_rights(void)
{
    const int shut = chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0;
    if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
        if (setresuid(NOBODY, NOBODY, NOBODY))
            return 0;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    return shut && syscall(SYS_capset, &header, none) == 0 ? LAYER_NAMESPACES : 0;
}

static int limit(int resource, rlim_t value)
{
    const struct rlimit both = {value, value};
    return setrlimit(resource, &both);
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * page;
}

/* Before the sandbox closes, for /proc must still be there and files must still open. */
static unsigned set_limits(rlim_t cpu)
{
    const size_t mapped = address_space();
    if (!mapped || limit(RLIMIT_AS, mapped + STACK_AND_SLACK) || limit(RLIMIT_CPU, cpu))
        return 0;
    if (limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_NPROC, 0))
        return 0;
    return LAYER_LIMITS;
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_HALF(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#endif

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define UNLESS_CLEAR(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skip), 0)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define CALL_NUMBER LOAD(offsetof(struct seccomp_data, nr))

/* Orders are read, words are said, memory opens and closes but never becomes code; all else ends
 * the process. */
static unsigned close_system(void)
{
#if defined(ARCHITECTURE) && defined(LOW_HALF)
    const struct sock_filter filter[] = {
        LOAD(offsetof(struct seccomp_data, arch)), UNLESS(ARCHITECTURE, 17),
        CALL_NUMBER,
        UNLESS(SYS_read, 3), LOAD(LOW_HALF(0)), UNLESS(0, 13), ALLOW,
        UNLESS(SYS_write, 3), LOAD(LOW_HALF(0)), UNLESS(1, 9), ALLOW,
        UNLESS(SYS_mprotect, 3), LOAD(LOW_HALF(2)), UNLESS_CLEAR(PROT_EXEC, 5), ALLOW,
        UNLESS(SYS_exit_group, 1), ALLOW,
        UNLESS(SYS_rt_sigreturn, 1), ALLOW,
        KILL,
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter *)filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return LAYER_SECCOMP;
#endif
    return 0;
}

static void close_files(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 2U, ~0U, 0U) == 0)
        return;
#endif
    for (int fd = 2; fd < 1024; fd++)
        close(fd);
}

/* Everything read, or false at the end of the stream before the first byte. */
static int receive(void *to, size_t bytes)
{
    for (size_t have = 0; have < bytes;) {
        const ssize_t got = read(0, (char *)to + have, bytes - have);
        if (got < 0)
            fail("cannot read an order");
        if (got == 0) {
            if (have)
                fail("an order ends early");
            return 0;
        }
        have += (size_t)got;
    }
    return 1;
}

static union {
    struct order order;
    int64_t words[MAX_WORDS];
} received;

static const struct buffer *buffers(void) { return (const void *)(&received.order + 1); }

static const struct argument *arguments(void)
{
    return (const void *)(buffers() + received.order.buffers);
}

static const struct call *calls(void)
{
    return (const void *)(arguments() + received.order.arguments);
}

static int fits(int64_t count) { return count >= 0 && count <= MAX_WORDS; }

static int receive_order(void)
{
    struct order *o = &received.order;
    if (!receive(o, sizeof *o))
        return 0;
    const int64_t head = sizeof *o / sizeof(int64_t);
    if (!fits(o->buffers) || !fits(o->arguments) || !fits(o->calls) || o->words > MAX_WORDS ||
        o->words != head + 4 * o->buffers + 2 * o->arguments + 2 * o->calls ||
        o->arguments > MAX_ARGUMENTS - 2)
        fail("an order is too long");
    const size_t rest = (size_t)(o->words - head) * sizeof(int64_t);
    if (rest && !receive(o + 1, rest))
        fail("an order ends early");
    return 1;
}

static const struct buffer *buffer(int64_t number)
{
    if (number < 0 || number >= received.order.buffers)
        fail("an order names no such buffer");
    return buffers() + number;
}

static char *address(int64_t number) { return arena + buffer(number)->offset + buffer(number)->delta; }

static void open_buffers(void)
{
    for (int64_t i = 0; i < received.order.buffers; i++) {
        const struct buffer *b = buffer(i);
        const size_t offset = (size_t)b->offset, length = (size_t)b->length;
        if (offset > arena_bytes || length > arena_bytes - offset)
            fail("a kernel's buffers do not fit into its memory");
        const int write = b->writable || !(layers & LAYER_READ_ONLY) ? PROT_WRITE : 0;
        protect(arena + offset, length, PROT_READ | write);
    }
}

static void close_buffers(void)
{
    for (int64_t i = 0; i < received.order.buffers; i++)
        if (layers & LAYER_GUARD)
            protect(arena + buffer(i)->offset, (size_t)buffer(i)->length, PROT_NONE);
}

static int64_t batch(void)
{
    struct batch *b = (struct batch *)(batch_page + page) - 1;
    protect(batch_page, page, PROT_READ | PROT_WRITE);
    b->tokens = (int32_t)received.order.tokens;
    b->seqs = (int32_t)received.order.seqs;
    for (int i = 0; i < 6; i++)
        b->vectors[i] = address(received.order.vectors[i]);
    protect(batch_page, page, PROT_READ);
    return (int64_t)b;
}

static int64_t argument(const struct argument *given)
{
    switch (given->kind) {
    case INTEGER:
        return given->value;
    case BUFFER:
        return (int64_t)address(given->value);
    case BATCH:
        return batch();
    default:
        fail("an order has an argument of no kind");
        return 0;
    }
}

#define FOUR(n) a[n], a[n + 1], a[n + 2], a[n + 3]
#define SIXTEEN(n) FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12)

static void run(kernel *function)
{
    w a[MAX_ARGUMENTS] = {0};
    const int64_t count = received.order.arguments;
    open_buffers();
    for (int64_t i = 0; i < count; i++)
        a[i] = argument(arguments() + i);
    say("mapped\n");
    for (int64_t i = 0; i < received.order.calls; i++) {
        a[count] = calls()[i].part;
        a[count + 1] = calls()[i].parts;
        function(SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48));
    }
    close_buffers();
    say("done\n");
}

static kernel *load(const char *library, const char *symbol)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail("the candidate's library cannot be loaded");
    void *found = dlsym(handle, symbol);
    if (!found)
        fail("the candidate's library lacks its function");
    kernel *function;
    memcpy(&function, &found, sizeof function);
    return function;
}

static void die_with_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        fail("cannot tie this process to its parent");
}

/* Close every layer that is asked for; the ones in force. */
static unsigned enter_sandbox(unsigned inside, rlim_t cpu)
{
    unsigned active = layers & (LAYER_READ_ONLY | LAYER_GUARD);
    if (layers & LAYER_LIMITS)
        active |= set_limits(cpu);
    if (layers & LAYER_NAMESPACES)
        active |= inside & give_up_rights();
    close_files();
    die_with_parent(); /* again: giving up rights takes it back */
    if (layers & LAYER_LIMITS && limit(RLIMIT_NOFILE, 0))
        active &= ~LAYER_LIMITS;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && layers & LAYER_SECCOMP)
        active |= close_system();
    return active;
}

int main(int argc, char **argv)
{
    if (argc != 7)
        fail("usage: runner LIBRARY SYMBOL MEMORY ARENA LAYERS CPU");
    arena_bytes = strtoull(argv[4], NULL, 10);
    layers = (unsigned)strtoul(argv[5], NULL, 10);
    limit(RLIMIT_CORE, 0);
    die_with_parent();
    const unsigned inside = layers & LAYER_NAMESPACES ? enter_namespaces() : 0;
    map_memory(atoi(argv[3]));
    kernel *function = load(argv[1], argv[2]);
    char ready[32];
    snprintf(ready, sizeof ready, "ready %u\n", enter_sandbox(inside, strtoull(argv[6], NULL, 10)));
    say(ready);
    while (receive_order())
        run(function);
    _exit(0);
}
