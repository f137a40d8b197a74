"""Findings of the static check in bodies for the subjects of the mutation engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from metainfer.driver.session import reading_context
from metainfer.verify.mutation.subjects import Subject, subjects
from metainfer.verify.static.check import check_accesses
from metainfer.verify.static.values import Finding

Check = Callable[[str, str], list[Finding]]


@pytest.fixture(scope="session")
def known() -> dict[str, Subject]:
    """The subjects by name."""
    return {s.name: s for s in subjects(reading_context().knowledge)}


@pytest.fixture
def check(known: dict[str, Subject]) -> Check:
    """What is found in a body for a subject."""

    def checked(name: str, body: str) -> list[Finding]:
        func = known[name].func.clone()
        func.body = ArrayAttr([StringAttr(line) for line in body.split("\n")])
        return check_accesses(func, known[name].module)

    return checked
