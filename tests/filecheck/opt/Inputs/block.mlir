infer.weight @gate {slot = "ffn_gate", source = "gate", type = tensor<8x4xf32>}
infer.weight @up {slot = "ffn_up", source = "up", type = tensor<8x4xf32>}
func.func @block(%x: tensor<?x4xf32, #infer.dims<tokens, _>>) -> tensor<?x8xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %g = infer.weight_ref @gate : tensor<8x4xf32>
  %u = infer.weight_ref @up : tensor<8x4xf32>
  %gate = infer.linear %x, %g : tensor<?x8xf32, #infer.dims<tokens, _>>
  %up = infer.linear %x, %u : tensor<?x8xf32, #infer.dims<tokens, _>>
  %y = infer.gated_act %gate, %up {act = "silu"} : tensor<?x8xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x8xf32, #infer.dims<tokens, _>>
}
