// RUN: metainfer-opt %s -p fuse --split-input-file --verify-diagnostics

// expected-error @unknown {{cannot group infer.linear: a result is used between the group's ops}}
infer.weight @ffn_gate {slot = "ffn_gate", source = "ffn_gate", type = tensor<32x32xf32>}
infer.weight @ffn_up {slot = "ffn_up", source = "ffn_up", type = tensor<32x32xf32>}
func.func @layer(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %g = infer.weight_ref @ffn_gate : tensor<32x32xf32>
  %u = infer.weight_ref @ffn_up : tensor<32x32xf32>
  %gate = infer.linear %x, %g : tensor<?x32xf32, #infer.dims<tokens, _>>
  %between = infer.add %gate, %gate : tensor<?x32xf32, #infer.dims<tokens, _>>
  %up = infer.linear %x, %u : tensor<?x32xf32, #infer.dims<tokens, _>>
  %y = infer.gated_act %gate, %up {act = "silu"} : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y, %between : tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>
}
