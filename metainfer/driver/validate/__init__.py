"""The pass gate: a module means the same before and after a pass, shown on a small twin of it."""
