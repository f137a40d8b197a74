"""Text from items: it parses to the same, and the canonical form is one for all that say it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import spec
from metainfer.resources import specs_dir
from metainfer.spec.frontend import parse_mispec
from metainfer.spec.items import Sheet
from metainfer.spec.lower import lift_engine
from metainfer.spec.printer import canonical, print_spec, spec_hash

SPECS = sorted(specs_dir().glob("*.mispec"))


def _sheet(module: ModuleOp) -> Sheet:
    return lift_engine(next(op for op in module.ops if isinstance(op, spec.EngineOp)))


def _read(text: str) -> Sheet:
    return _sheet(parse_mispec(text, "x.mispec"))


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_shipped_specs_survive_printing(path: Path) -> None:
    module = parse_mispec(path.read_text(encoding="utf-8"), path.name)
    again = parse_mispec(print_spec(_sheet(module)), path.name)
    assert again.is_structurally_equivalent(module)
    normal = canonical(_sheet(module))
    assert canonical(_read(normal)) == normal


ONE = """engine x {
  workload { batch <= 1; context <= 2k tokens } // one
  require { itl.p95 <= 0.025 s @ batch 1, context 64; kv <= 4096 KiB }
  require { top1 >= 97.0 % vs reference; kl <= 20e-3 vs reference }
  quantize { kv == f16 }
  target cuda { bandwidth 4800 GB/s }
}"""
OTHER = """engine x {
  target cuda
  {
    bandwidth 4.8 TB/s
  }
  quantize { kv f16 }
  require { kl <= 0.02 vs reference
    top1 >= 97 % vs reference; itl.p95 <= 25 ms @ context 64 tokens, batch 1 }
  require { kv <= 4 MiB }
  workload { context <= 2000 tokens }; workload { batch <= 1 }
}"""


def test_what_says_the_same_has_one_canonical_form_and_hash() -> None:
    assert canonical(_read(ONE)) == canonical(_read(OTHER))
    assert spec_hash(_read(ONE)) == spec_hash(_read(OTHER))
    assert re.fullmatch("sha256:[0-9a-f]{64}", spec_hash(_read(ONE)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2k tokens", "2001 tokens"),
        ("97.0 %", "97.1 %"),
        ("context 64", "context 65"),
        ("kv == f16", "kv f32"),
        ("engine x", "engine y"),
        ("4096 KiB", "4096 kB"),
        ("<= 2k", "~ 2k"),
    ],
)
def test_what_says_something_else_has_another_hash(before: str, after: str) -> None:
    assert ONE.replace(before, after) != ONE
    assert spec_hash(_read(ONE.replace(before, after))) != spec_hash(_read(ONE))


def test_the_order_of_objectives_counts() -> None:
    one = "engine x { prefer { min itl; then min kv } }"
    other = "engine x { prefer { min kv; then min itl } }"
    assert canonical(_read(one)) != canonical(_read(other))


def test_the_hash_is_stable() -> None:
    # A recorded engine names the hash of its spec: changing how it is made makes it stale.
    text = (specs_dir() / "quickstart.mispec").read_text(encoding="utf-8")
    assert spec_hash(_read(text)) == (
        "sha256:999d2e09b34d73c257d24dd4b91f52ac326506f69c3ad51e26278d3525bd9ca5"
    )


def test_facts_of_the_model_are_not_part_of_a_spec(
    resolve: Callable[..., ModuleOp], shipped: Callable[[str], ModuleOp]
) -> None:
    plain, resolved = shipped("quickstart"), resolve(shipped("quickstart"))
    assert spec_hash(_sheet(resolved)) == spec_hash(_sheet(plain))


def test_ir_that_no_text_spells_is_refused(shipped: Callable[[str], ModuleOp]) -> None:
    module = shipped("quickstart")
    pin = next(op for op in module.walk() if isinstance(op, spec.PinOp))
    pin.what_attr = StringAttr("colour")
    with pytest.raises(DiagnosticError, match="no word of the language says pin 'colour'"):
        print_spec(_sheet(module))
    model = next(op for op in module.walk() if isinstance(op, spec.ModelOp))
    pin.what_attr, model.uri = StringAttr("isa"), StringAttr('a"b')
    with pytest.raises(DiagnosticError, match="no text can spell"):
        print_spec(_sheet(module))


def test_an_exception_without_its_pin_is_refused(shipped: Callable[[str], ModuleOp]) -> None:
    module = shipped("laptop_chat")
    pins = [op for op in module.walk() if isinstance(op, spec.PinOp) and op.what == "weights"]
    pins[0].detach()
    with pytest.raises(DiagnosticError, match="'weights' follows no 'weights'"):
        print_spec(_sheet(module))
