infer.weight @norm {layers = #infer.layers<0 to 1>, slot = "norm", source = "blk.{layer}.norm", type = tensor<32xf32>}
infer.state @kv {k = tensor<2x16xf32>, layers = #infer.layers<0 to 1>, v = tensor<2x16xf32>}

func.func @layer(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %batch: !infer.batch, %kv: !infer.state<@kv>) -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 1 to 8, seqs = 1 to 2>} {
  %w = infer.weight_ref @norm : tensor<32xf32>
  %h = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  %kv1 = infer.state_append %kv, %h, %h, %batch : !infer.state<@kv>
  func.return %h, %kv1 : tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
}
