"""The engine gate: what holds for a whole program, beyond each of its kernels."""
