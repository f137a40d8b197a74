"""The static check: every access of a kernel's C body is proven to lie inside its buffer.

The body is run once with symbols for numbers (abstract interpretation), for all calls that the ABI
allows at once. `reader` makes a tree of the text, `affine` proves inequalities between affine
forms, `integers` says what C's arithmetic makes of them, `buffers` what the host guarantees;
`expressions`, `statements` and `loops` walk the tree, `check` is the way in.
"""
