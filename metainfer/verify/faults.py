"""What goes wrong while a kernel is verified: its fault, or ours."""

from __future__ import annotations

from metainfer.verify.verdict import Stage


class InfraError(Exception):
    """Our machinery failed: says nothing about the kernel."""


class KernelFault(Exception):
    """What a kernel did wrong; one element of an output, where one shows it."""

    def __init__(
        self,
        stage: Stage,
        detail: str,
        *,
        index: tuple[int, ...] | None = None,
        got: float | None = None,
        want: float | None = None,
        ratio: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.stage: Stage = stage
        self.index, self.got, self.want, self.ratio = index, got, want, ratio
