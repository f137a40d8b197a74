// The first products of a parallel block: attention and the feed-forward part read one value.
!x = tensor<?x64xf32, #infer.dims<tokens, _>>
!w = tensor<64x64xf32>
infer.weight @q {slot = "attn_q", source = "q", type = !w}
infer.weight @k {slot = "attn_k", source = "k", type = !w}
infer.weight @v {slot = "attn_v", source = "v", type = !w}
infer.weight @up {slot = "ffn_up", source = "up", type = !w}

func.func @block(%h: !x) -> (!x, !x, !x, !x) attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %wq = infer.weight_ref @q : !w
  %wk = infer.weight_ref @k : !w
  %wv = infer.weight_ref @v : !w
  %wu = infer.weight_ref @up : !w
  %q = infer.linear %h, %wq : !x
  %k = infer.linear %h, %wk : !x
  %v = infer.linear %h, %wv : !x
  %up = infer.linear %h, %wu : !x
  func.return %q, %k, %v, %up : !x, !x, !x, !x
}
