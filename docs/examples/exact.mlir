// Products of whole numbers and their halves are exact in float32; tenths are not.
func.func @f(%x: tensor<?x4xf32, #infer.dims<tokens, _>>, %w: tensor<6x4xf32>) -> tensor<?x6xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %y = infer.linear %x, %w : tensor<?x6xf32, #infer.dims<tokens, _>>
  %half = infer.scale %y {factor = 5.0e-01 : f64} : tensor<?x6xf32, #infer.dims<tokens, _>>
  %tenth = infer.scale %half {factor = 1.0e-01 : f64} : tensor<?x6xf32, #infer.dims<tokens, _>>
  func.return %tenth : tensor<?x6xf32, #infer.dims<tokens, _>>
}
