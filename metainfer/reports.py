"""Messages to whoever watches: progress, or a warning about something that was put right."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str], None]


def quiet(message: str) -> None:
    """Nobody is told."""
