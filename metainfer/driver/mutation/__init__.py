"""Mutants of passes and contracts: what the IR gate, the pass gate and R0 notice, as a number."""
