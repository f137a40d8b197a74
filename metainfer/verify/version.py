"""Which rules a verdict was reached by; evidence of any other version is not reused."""

VERIFIER = "gate-3"
