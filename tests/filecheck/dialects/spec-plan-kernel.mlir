// RUN: metainfer-opt %s --split-input-file --verify-diagnostics

// What the ops of these dialects refuse, at the op that is wrong.

spec.engine @x {
// expected-error @below {{spec.pin: operator '~' is none of ==, <=, >=}}
  spec.pin kv "~" f32
}

// -----

spec.engine @x {
// expected-error @below {{spec.expect: operator '<=' is none of ==, !=}}
  spec.expect arch "<=" "llama"
}

// -----

spec.engine @x {
// expected-error @below {{spec.demand: operator '>=' is none of <=, ~}}
  spec.demand context ">=" 3 tokens
}

// -----

spec.engine @x {
// expected-error @below {{spec.require: a load is a dictionary of integers}}
  spec.require itl.p95 "<=" 2 ms at {context = 1.5}
}

// -----

spec.engine @x {
// expected-error @below {{spec.prefer: 'most' is neither min nor max}}
  spec.prefer most itl
}

// -----

spec.engine @x {
// expected-error @below {{spec.degrade: the values of a degrade fall}}
  spec.degrade context [1, 2] tokens
}

// -----

spec.engine @x {
// expected-error @below {{spec.demand: unknown unit 'miles'}}
  "spec.demand"() <{what = "a", op = "~", value = 1 : i64, unit = "miles"}> : () -> ()
}

// -----

// expected-error @below {{spec.engine: 'kv' is stated twice}}
spec.engine @x {
  spec.pin kv "==" f32
  spec.pin kv "==" f16
}

// -----

// expected-error @below {{spec.engine: 'spec.model' is stated twice}}
spec.engine @x {
  spec.model "a"
  spec.model "b"
}

// -----

// expected-error @below {{spec.engine: 'infer.layout' is not a constraint of the spec dialect}}
spec.engine @x {
  infer.layout @l {align = 64 : i64, contract = "c", hash = "", lanes = 16 : i64}
}

// -----

// expected-error @below {{plan.decision: by 'me' is none of rule, llm, user}}
plan.decision @d {alternatives = ["a", "b"], by = "me", right = "pinned", site = "s", value = "a", what = "w"}

// -----

// expected-error @below {{plan.decision: right 'mine' is none of pinned, bounded, chosen}}
plan.decision @d {alternatives = ["a", "b"], by = "user", right = "mine", site = "s", value = "a", what = "w"}

// -----

// expected-error @below {{plan.decision: value 'c' is none of a, b}}
plan.decision @d {alternatives = ["a", "b"], by = "user", right = "pinned", site = "s", value = "c", what = "w"}

// -----

// expected-error @below {{kernel.func: parts 'some' is none of rows, columns, heads, tokens, none}}
kernel.func @f(%a: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "some", path = @p} {
  %0 = infer.add %a, %b : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
}

// -----

// expected-error @below {{kernel.func: semantics end with kernel.return}}
kernel.func @f(%a: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %a, %b : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// -----

// expected-error @below {{kernel.func: returned values and signature differ}}
kernel.func @f(%a: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x16xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  kernel.return %a
}

// -----

// expected-error @below {{kernel.func: block arguments and signature differ}}
"kernel.func"() <{sym_name = "f", function_type = (tensor<?x16xf32, #infer.dims<tokens, _>>) -> tensor<?x32xf32, #infer.dims<tokens, _>>, arguments = ["a"], outputs = ["y"], dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p}> ({
^bb0(%a: tensor<?x32xf32, #infer.dims<tokens, _>>):
  kernel.return %a
}) : () -> ()

// -----

// expected-error @below {{kernel.func: each argument and result has one name}}
"kernel.func"() <{sym_name = "f", function_type = (tensor<?x32xf32, #infer.dims<tokens, _>>) -> tensor<?x32xf32, #infer.dims<tokens, _>>, arguments = [], outputs = ["y"], dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p}> ({
^bb0(%a: tensor<?x32xf32, #infer.dims<tokens, _>>):
  kernel.return %a
}) : () -> ()
