"""Every known way to cheat that can exist for a C body, with the layer that must stop it.

The numbers are those of a list of forty found in kernel benchmarks, their issues and papers:
1 unwritten output, 2 the reference's memory recycled, 3 earlier output trusted, 4 inputs changed,
5 output passed through, 6 cache by pointer, 7 cache by shape, 8 calls put off, 9 honest at first,
10 told by environment, 11 clock replaced, 12 statistics patched, 13 work on the side, 14 lazy
objects, 15 comparison replaced, 16 expected values found, 17 answers forged, 18 secrets read, 19
process tampered with, 20 NaN as wildcard, 21 infinities filtered, 22 zero reference, 23 below an
absolute tolerance, 24 degenerate statistics, 25 weights ignored, 26 shapes learnt, 27 tables of
outputs, 28 part of a sum, 29 tails skipped, 30 out of bounds unnoticed, 31 races, 32 low-precision
sums, 33 low-precision products, 34 library called, 35 decoy kernel, 36 fallback on error, 37 code
made at run time, 38 checker evaded, 39 structure of inputs exploited, 40 caches warmed.
"""

from exploit import Exploit
from kernels import HONEST

ADD = HONEST["add"]

CANNOT_EXIST = {
    12: "statistics are the parent's; a kernel returns nothing",
    14: "the kernel is given addresses of raw bytes; there are no objects to be lazy",
    40: "no time is measured where a kernel is verified",
}


def _spoiled(row: int, name: str, stages: str, kernel: str, old: str, new: str) -> Exploit:
    """An honest body of `kernel` with one fragment replaced."""
    assert old in HONEST[kernel]
    return Exploit(row, name, stages, HONEST[kernel].replace(old, new), kernel)


def _first(row: int, name: str, layer: str, *lines: str, outside: str = "") -> Exploit:
    """An honest body that does something else first."""
    return Exploit(row, name, layer, "\n".join([*lines, ADD]), outside=outside)


def _if(row: int, name: str, layer: str, trick: str, outside: str = "") -> Exploit:
    """A body that adds only once its trick, a condition, has worked."""
    return _first(row, name, layer, f"if (!({trick}))", "    return;", outside=outside)


def _beside(row: int, name: str, layer: str, outside: str) -> Exploit:
    """An honest body with something beside it."""
    return Exploit(row, name, layer, ADD, outside=outside)


_TERM = "x[t * 64 + k]"
_FIRST_TERM = "x[t * 64] * w_w[r / 16 * 1024 + r % 16]"

GATE = (
    _spoiled(1, "last token unwritten", "unwritten", "add", "t < tokens", "t < tokens - 1"),
    _spoiled(
        3,
        "keeps what looks computed",
        "unwritten stale",
        "add",
        "y[t * 24 + c] =",
        "if (y[t * 24 + c] != y[t * 24 + c])\n            y[t * 24 + c] =",
    ),
    _spoiled(20, "NaN everywhere", "class", "add", "a[t * 24 + c] +", "0.0f / 0.0f *"),
    _spoiled(21, "infinity everywhere", "class", "add", "a[t * 24 + c] +", "INFINITY +"),
    _spoiled(22, "zeros", "exact bound", "add", "a[t * 24 + c] + b[t * 24 + c]", "0.0f"),
    _spoiled(
        23,
        "zeros for small sums",
        "exact bound",
        "linear",
        "= sum",
        "= fabsf(sum) < 1e-2f ? 0.0f : sum",
    ),
    _spoiled(24, "the mean of the sums", "exact bound", "linear", "= sum", "= 0.0f"),
    _spoiled(25, "weights ignored", "exact bound", "norm", " * w[c]", ""),
    _spoiled(
        26,
        "small shapes only",
        "unwritten",
        "add",
        "t < tokens",
        "t < (tokens > 8 ? 8 : tokens)",
    ),
    _spoiled(28, "63 of 64 terms", "exact bound", "linear", "k < 64", "k < 63"),
    _spoiled(
        28,
        "63 of 64 terms, scaled",
        "exact bound",
        "linear",
        "= sum",
        f"= (sum - {_FIRST_TERM}) * (64.0f / 63.0f)",
    ),
    _spoiled(29, "tail skipped", "unwritten", "add", "t < tokens", "t < (tokens & ~3)"),
    _spoiled(31, "parts overlap", "overlap", "add", "c < 24 * (part + 1) / parts", "c < 24"),
    _spoiled(
        32,
        "sums in half precision",
        "exact bound class",
        "linear",
        "float sum",
        "_Float16 sum",
    ),
    _spoiled(
        33,
        "products of half precision",
        "exact bound class",
        "linear",
        _TERM,
        f"(float)(_Float16){_TERM}",
    ),
    _spoiled(
        39,
        "rows that begin alike are alike",
        "exact bound class",
        "add",
        "a[t * 24 + c] +",
        "(a[t * 24] == a[0] ? a[c] : a[t * 24 + c]) +",
    ),
)
"""Bodies that obey every rule of the sandbox: a stage of the kernel gate stops them."""

LAYERED_GATE = (
    Exploit(5, "input as output", "unwritten", "y = (float *)a;"),
    _first(
        6,
        "cache by pointer",
        "unwritten stale",
        "static const float *last;",
        "if (a == last)",
        "    return;",
        "last = a;",
    ),
    _first(
        7,
        "cache by shape",
        "unwritten stale",
        "static int32_t last;",
        "if (tokens == last)",
        "    return;",
        "last = tokens;",
    ),
    _first(
        8,
        "every second call put off",
        "unwritten stale",
        "static int32_t calls;",
        "if (calls++ % 2)",
        "    return;",
    ),
    _first(17, "forges the answer", "crash", 'write(1, "done\\n", 5);', "_exit(0);"),
)
"""The gate stops these too, though the text policy would have been first."""

_MAP = "mmap(0, {0}, {1}, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED"
_LATER = ("if (calls++ > 1000000)", "    return;")

SANDBOX = (
    _if(2, "looks for recycled memory", "guard_pages", "y[tokens * 24 + 8192] != 12345.0f"),
    _first(4, "writes an input", "read_only", "*(volatile float *)a = *a;"),
    _first(9, "honest for a million calls", "object", "static int32_t calls;", *_LATER),
    _first(9, "counts by thread", "object", "static _Thread_local int32_t calls;", *_LATER),
    _first(
        9, "counts elsewhere", "text", "extern int32_t calls;", *_LATER, outside="int32_t calls;"
    ),
    _if(10, "asks the environment", "object", '!getenv("METAINFER_ENGINE")'),
    _beside(11, "brings a clock", "object", "int clock_gettime(int c, void *t) { return 0; }"),
    _if(13, "starts a process", "seccomp", "fork() || (_exit(0), 0)"),
    _if(13, "starts a thread", "seccomp", "syscall(SYS_clone, 0, 0, 0, 0, 0) || (_exit(0), 0)"),
    _beside(
        15,
        "brings a comparison",
        "object",
        "int memcmp(const void *a, const void *b, size_t n) { return 0; }",
    ),
    _if(16, "reads of other processes", "namespaces", 'open("/proc/1/cmdline", O_RDONLY) >= 0'),
    _if(
        16,
        "reads its parent's memory",
        "seccomp",
        "!syscall(SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0)",
    ),
    _if(18, "reads secrets", "object", "environ && !*environ", "extern char **environ;"),
    _if(19, "opens its own memory", "seccomp", 'open("/proc/self/mem", O_RDWR) >= 0'),
    _if(
        19,
        "makes code writable",
        "seccomp",
        "!mprotect((void *)((size_t)getenv & -4096), 4096, 7)",
    ),
    _if(19, "lets itself be traced", "seccomp", "prctl(PR_SET_DUMPABLE, 1) == 0"),
    _first(
        27,
        "table of outputs",
        "text",
        f"const float known[] = {{{', '.join(f'{n}.5f' for n in range(600))}}};",
        "if (a[0] == known[tokens])",
        "    y[0] = known[tokens + 1];",
    ),
    _spoiled(
        30,
        "reads one too far",
        "guard_pages",
        "add",
        "y[t * 24 + c] =",
        "y[t * 24 + c] = a[t * 24 + c + 1] == 12345.0f ? 0.0f :",
    ),
    _first(30, "writes one before", "margins", "y[-1] = 1.0f;"),
    _if(34, "loads a library", "object", "dlopen(0, 2)", "void *dlopen(const char *, int);"),
    Exploit(35, "decoy beside the kernel", "text", f"{ADD}\n}}\nvoid decoy(void)\n{{"),
    _if(36, "survives its own faults", "seccomp", "signal(SIGSEGV, SIG_IGN) != SIG_ERR"),
    _if(37, "maps code", "seccomp", _MAP.format(4096, "PROT_WRITE | PROT_EXEC")),
    _if(37, "runs a program", "seccomp", 'system("exit 0") == 0'),
    _beside(
        37,
        "runs when it is loaded",
        "object",
        '__attribute__((constructor)) static void early(void) { __asm__ volatile(""); }',
    ),
    _first(38, "digraph", "text", "%:define trick 1"),
    _first(38, "spliced lines", "text", "int un\\", "used = 0;"),
    _first(38, "pragma as an operator", "text", '_Pragma("GCC ivdep")'),
    _first(38, "universal character name", "text", "int \\u00e9 = 0;"),
    _first(38, "assembly by another name", "text", '__asm("nop");'),
    _first(
        38,
        "call through a pointer",
        "text",
        "float (*call)(float) = sqrtf;",
        "if (call(4.0f) != 2.0f)",
        "    return;",
    ),
    _first(
        38,
        "address made of a number",
        "text",
        "size_t at = (size_t)y;",
        "float *again = (float *)at;",
        "if (again != y)",
        "    return;",
    ),
    _first(
        38,
        "statement as expression",
        "text",
        "const int one = ({ int i = 1; i; });",
        "if (!one)",
        "    return;",
    ),
    _first(
        38,
        "function in the function",
        "text",
        "float twice(float v) { return v * 2; }",
        "if (twice(1.0f) != 2.0f)",
        "    return;",
    ),
    _first(38, "computed goto", "text", "void *there = &&on;", "goto *there;", "on:;"),
    _if(0, "takes memory", "rlimits", _MAP.format("1UL << 30", "PROT_WRITE")),
    _if(0, "opens files", "rlimits", 'open("/", O_RDONLY) >= 0'),
    _if(0, "opens a socket", "seccomp", "syscall(SYS_socket, 1, 1, 0) >= 0"),
    _first(0, "takes its time", "wall_clock", "usleep(500000);"),
)
"""Stopped by a layer of the sandbox; each gets through where that layer is left out."""

EXPLOITS = (*GATE, *LAYERED_GATE, *SANDBOX)
