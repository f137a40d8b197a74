// A forward function of kernels with bodies, ready for `schedule`.
infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
kernel.func @embed(%b: !infer.batch, %w: tensor<64x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p} {
  %0 = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
func.func @forward(%b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = kernel.call @embed, %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  %y = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}
