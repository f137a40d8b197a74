// RUN: metainfer-opt %s -p apply-quantization --split-input-file --verify-diagnostics

// Formats that nothing can be stored or computed in.

plan.decision @d {alternatives = ["q8_0"], by = "user", right = "pinned", site = "model", value = "q8_0", what = "weights"}
// expected-error @unknown {{weights 'q8_0' has no mechanism yet}}
infer.state @kv {k = tensor<2x16xf32>, layers = #infer.layers<0 to 0>, v = tensor<2x16xf32>}

// -----

plan.decision @d {alternatives = ["f16"], by = "user", right = "pinned", site = "model", value = "f16", what = "acts"}
// expected-error @unknown {{acts 'f16' has no mechanism yet}}
infer.state @kv {k = tensor<2x16xf32>, layers = #infer.layers<0 to 0>, v = tensor<2x16xf32>}

// -----

plan.decision @d {alternatives = ["q4"], by = "user", right = "pinned", site = "kv", value = "q4", what = "kv"}
// expected-error @unknown {{state type 'q4' is none of f32, f16}}
infer.state @kv {k = tensor<2x16xf32>, layers = #infer.layers<0 to 0>, v = tensor<2x16xf32>}

// -----

// expected-error @unknown {{pass apply-quantization needs: run expand-model first}}
func.func @forward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}
