// Types are placeholders; arguments match anything, weights match by slot.
func.func @pattern(%h: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) {
  %wq = infer.weight_ref @attn_q : tensor<1x1xf32>
  %bq = infer.weight_ref @attn_q_bias : tensor<1xf32>
  %wk = infer.weight_ref @attn_k : tensor<1x1xf32>
  %bk = infer.weight_ref @attn_k_bias : tensor<1xf32>
  %wv = infer.weight_ref @attn_v : tensor<1x1xf32>
  %bv = infer.weight_ref @attn_v_bias : tensor<1xf32>
  %q = infer.linear %h, %wq, %bq : tensor<1x1xf32>
  %k = infer.linear %h, %wk, %bk : tensor<1x1xf32>
  %v = infer.linear %h, %wv, %bv : tensor<1x1xf32>
  func.return %q, %k, %v : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
