func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{result has the type of the input}}
  %b = infer.rms_norm %a, %a {eps = 1.0e-05 : f64} : tensor<8xf32>
  func.return %a : tensor<4xf32>
}

// -----

// expected-error @+1 {{unknown operation 'func.funk'}}
func.funk @f()
