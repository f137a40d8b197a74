// RUN: metainfer-opt %s -p specialize-entries --split-input-file --verify-diagnostics

// Boxes that do not cover the range of tokens. A plan names them, which has no place in a text.

plan.decision @d {alternatives = ["decode 1"], by = "user", right = "pinned", site = "model", value = "decode 1", what = "entries"}
// expected-error @unknown {{not a list of entries: decode 1}}
func.func @forward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}

// -----

plan.decision @d {alternatives = ["one 1..2, two 4..4"], by = "user", right = "pinned", site = "model", value = "one 1..2, two 4..4", what = "entries"}
// expected-error @unknown {{entry two 4..4 must start at 3 and end at or after it}}
func.func @forward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}

// -----

plan.decision @d {alternatives = ["one 1..2"], by = "user", right = "pinned", site = "model", value = "one 1..2", what = "entries"}
// expected-error @unknown {{entries end at 2 tokens, a step has up to 4}}
func.func @forward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}

// -----

// expected-error @unknown {{pass specialize-entries needs: run expand-model first}}
func.func @backward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}
