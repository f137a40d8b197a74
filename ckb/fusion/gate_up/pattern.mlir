// Types are placeholders; arguments match anything, weights match by slot.
func.func @pattern(%h: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %wg = infer.weight_ref @ffn_gate : tensor<1x1xf32>
  %wu = infer.weight_ref @ffn_up : tensor<1x1xf32>
  %gate = infer.linear %h, %wg : tensor<1x1xf32>
  %up = infer.linear %h, %wu : tensor<1x1xf32>
  func.return %gate, %up : tensor<1x1xf32>, tensor<1x1xf32>
}
