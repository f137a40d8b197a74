infer.path @p {accumulate = "f32", contract = "numeric_path/example", fma = true, hash = "00", order = ""}
kernel.func @add(%a: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p, provider = "hand", target = "c:generic"} {
  %0 = infer.add %a, %b : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [
  "for (int i = 0; i < tokens * 32; i++)",
  "  y[i] = a[i] + b[i];"
]
