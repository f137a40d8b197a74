"""The NumPy reference interpreter: what every op means, in float64, with error bounds if asked.

`run.py` executes functions and layers, `kernel.py` evaluates one kernel for the verifier, `r0.py`
drives a whole model. `ops.py` and `attention.py` hold the mathematics, `bounds.py` how far a
correct float32 implementation may be off, `decode.py` what stored weights mean.
"""
