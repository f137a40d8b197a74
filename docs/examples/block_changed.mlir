// A feed-forward block by hand: norm, two products, their gate, the way back, the sum.
infer.weight @gate {slot = "ffn_gate", source = "gate", type = tensor<48x32xf32>}
infer.weight @up {slot = "ffn_up", source = "up", type = tensor<48x32xf32>}
infer.weight @down {slot = "ffn_down", source = "down", type = tensor<32x48xf32>}
infer.weight @norm {slot = "ffn_norm", source = "norm", type = tensor<32xf32>}

func.func @block(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %norm = infer.weight_ref @norm : tensor<32xf32>
  %h = infer.rms_norm %x, %norm {eps = 1.0e-03 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  %w_gate = infer.weight_ref @gate : tensor<48x32xf32>
  %w_up = infer.weight_ref @up : tensor<48x32xf32>
  %gate = infer.linear %h, %w_gate : tensor<?x48xf32, #infer.dims<tokens, _>>
  %up = infer.linear %h, %w_up : tensor<?x48xf32, #infer.dims<tokens, _>>
  %act = infer.gated_act %gate, %up {act = "silu"} : tensor<?x48xf32, #infer.dims<tokens, _>>
  %w_down = infer.weight_ref @down : tensor<32x48xf32>
  %out = infer.linear %act, %w_down : tensor<?x32xf32, #infer.dims<tokens, _>>
  %y = infer.add %x, %out : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}
