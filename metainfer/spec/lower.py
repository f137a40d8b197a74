"""Items to `spec` ops and back."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region

from metainfer.ir.diagnostics import Place
from metainfer.ir.dialects import spec
from metainfer.spec.items import Item, Sheet
from metainfer.spec.view import place_of

Properties = dict[str, Attribute]


def location_of(place: Place | None) -> LocationAttr:
    """First and last character of a stretch, fused; of a single character only its position.

    MLIR's file locations have no length: this keeps it through printing and parsing.
    """
    if place is None:
        return UnknownLoc()
    file = StringAttr(place.file)
    first = FileLineColLoc(file, IntAttr(place.line), IntAttr(place.col))
    if place.length == 1:
        return first
    last = FileLineColLoc(file, IntAttr(place.line), IntAttr(place.col + place.length - 1))
    return FusedLoc(ArrayAttr([first, last]), NoneAttr())


def lower_sheet(sheet: Sheet) -> ModuleOp:
    """A module with the one engine that the sheet describes."""
    ops = [lower_item(item) for item in sheet.items]
    engine = spec.EngineOp.build(
        properties={"sym_name": StringAttr(sheet.name)}, regions=[Region(Block(ops))]
    )
    engine.location = location_of(sheet.place)
    module = ModuleOp([engine])
    module.location = location_of(sheet.place and Place(sheet.place.file, 1, 1))
    return module


def lower_item(item: Item) -> Operation:
    """The op of an item, at its place."""
    kind, properties = _properties(item)
    op = kind.build(properties=properties)
    op.location = location_of(item.place)
    return op


def _properties(item: Item) -> tuple[type[spec.ConstraintOp], Properties]:
    what, value = StringAttr(item.what), item.value
    match item.op:
        case "use":
            return spec.UseOp, {"path": what}
        case "model":
            return spec.ModelOp, {"uri": what} | (_strings(sha256=str(value)) if value else {})
        case "target":
            return spec.TargetOp, {"device": what}
        case "feature":
            return spec.FeatureOp, {"feature": what}
        case "prefer":
            return spec.PreferOp, {"what": what} | _strings(direction=str(value))
        case "degrade" if isinstance(value, tuple):
            values = DenseArrayBase.from_list(i64, [int(n) for n in value])
            return spec.DegradeOp, {"what": what, "values": values} | _unit(item)
        case "allow" if isinstance(value, tuple):
            return spec.AllowOp, {
                "what": what,
                "values": ArrayAttr([StringAttr(str(word)) for word in value]),
            }
        case "except":
            return spec.ExceptOp, {"what": what} | _strings(site=item.site, value=str(value))
        case "pin":
            return spec.PinOp, {"what": what} | _strings(op=item.operator, value=str(value))
        case _:
            return _comparison(item)


def _comparison(item: Item) -> tuple[type[spec.ConstraintOp], Properties]:
    kinds: dict[str, type[spec.ConstraintOp]] = {
        "expect": spec.ExpectOp,
        "demand": spec.DemandOp,
        "require": spec.RequireOp,
        "want": spec.WantOp,
        "limit": spec.LimitOp,
    }
    value = item.value
    number = spec.number_attr(value) if isinstance(value, int | float) else StringAttr(str(value))
    found = _strings(what=item.what, op=item.operator) | {"value": number}
    if item.load:
        found["at"] = DictionaryAttr({name: IntegerAttr(n, i64) for name, n in item.load})
    if item.versus:
        found["vs"] = StringAttr(item.versus)
    return kinds[item.op], found | _unit(item)


def _strings(**values: str) -> Properties:
    return {name: StringAttr(value) for name, value in values.items()}


def _unit(item: Item) -> Properties:
    return _strings(unit=item.unit) if item.unit else {}


def lift_engine(engine: spec.EngineOp) -> Sheet:
    """The sheet that `engine` would be lowered from; what was found out about it is left out."""
    ops = [op for op in engine.body.block.ops if isinstance(op, spec.ConstraintOp)]
    items = tuple(lift_op(op) for op in ops)
    return Sheet(engine.engine_name, place_of(engine), items)


def lift_op(op: spec.ConstraintOp) -> Item:
    """The item of an op."""
    kind, place = op.name.partition(".")[2], place_of(op)
    match op:
        case spec.UseOp():
            return Item(kind, op.path.data, place)
        case spec.ModelOp():
            return Item(kind, op.uri.data, place, value=op.sha256.data if op.sha256 else None)
        case spec.TargetOp():
            return Item(kind, op.device, place)
        case spec.FeatureOp():
            return Item(kind, op.feature, place)
        case spec.PreferOp():
            return Item(kind, op.what, place, value=op.direction)
        case spec.DegradeOp():
            return Item(kind, op.what, place, value=op.values, unit=op.unit)
        case spec.AllowOp():
            return Item(kind, op.what, place, value=op.values)
        case spec.ExceptOp():
            return Item(kind, op.what, place, value=op.value, site=op.site)
        case spec.PinOp() | spec.ExpectOp():
            return Item(kind, op.what, place, op.operator, op.value)
        case spec.MeasureOp():
            load = tuple(op.load.items())
            versus = op.vs.data if op.vs else None
            return Item(kind, op.what, place, op.operator, op.value, op.unit, load, versus)
        case spec.AmountOp():
            return Item(kind, op.what, place, op.operator, op.value, op.unit)
        case _:
            raise TypeError(f"no item for {op.name}")
