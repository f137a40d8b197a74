"""What keeps a kernel body from doing more than its work, in layers that do not trust each other.

`policy` reads the text of a body before a compiler does, `objects` what the compiler made of it;
`runner.c` is the process that runs it, with no system call to make, no file, no network and
no memory but its buffers; `proofs` shows of every layer that it holds on this machine.
"""
