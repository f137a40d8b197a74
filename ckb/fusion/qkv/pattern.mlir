// Types are placeholders; arguments match anything, weights match by slot.
func.func @pattern(%h: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) {
  %wq = infer.weight_ref @attn_q : tensor<1x1xf32>
  %wk = infer.weight_ref @attn_k : tensor<1x1xf32>
  %wv = infer.weight_ref @attn_v : tensor<1x1xf32>
  %q = infer.linear %h, %wq : tensor<1x1xf32>
  %k = infer.linear %h, %wk : tensor<1x1xf32>
  %v = infer.linear %h, %wv : tensor<1x1xf32>
  func.return %q, %k, %v : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
