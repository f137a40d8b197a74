"""The `plan` dialect: what was decided, by whom, and what else could have been."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.syntax import SimpleOp

RIGHTS = ("pinned", "bounded", "chosen")
AUTHORS = ("rule", "llm", "user")


@irdl_op_definition
class DecisionOp(SimpleOp):
    """One decision: at `site`, `what` is `value`, out of `alternatives`.

    `right` says what allowed it: `pinned` by a spec line, `bounded` by one, or freely `chosen`.

    ```mlir
    plan.decision @d0 {alternatives = ["f32"], because = "spec: acts f32", by = "user", \
right = "pinned", site = "model", value = "f32", what = "acts"}
    ```
    """

    name = "plan.decision"
    SYMBOL: ClassVar[str | None] = "sym_name"
    sym_name = prop_def(SymbolNameConstraint())
    site = prop_def(StringAttr)
    what = prop_def(StringAttr)
    value = prop_def(StringAttr)
    alternatives = prop_def(ArrayAttr[StringAttr])
    right = prop_def(StringAttr)
    by = prop_def(StringAttr)
    because = opt_prop_def(StringAttr)
    traits = traits_def(SymbolOpInterface())

    def verify_(self) -> None:
        if self.right.data not in RIGHTS:
            raise VerifyException(f"right '{self.right.data}' is none of {', '.join(RIGHTS)}")
        if self.by.data not in AUTHORS:
            raise VerifyException(f"by '{self.by.data}' is none of {', '.join(AUTHORS)}")
        known = [a.data for a in self.alternatives]
        if self.value.data not in known:
            raise VerifyException(f"value '{self.value.data}' is none of {', '.join(known)}")


Plan = Dialect("plan", [DecisionOp], [])
