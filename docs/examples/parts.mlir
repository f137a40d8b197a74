func.func @first(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = infer.add %a, %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
// -----
func.func @second(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = infer.add %a, %a : tensor<8xf32>
  func.return %b : tensor<4xf32>
}
