// RUN: metainfer-opt %s --split-input-file --verify-diagnostics
// RUN: not metainfer-opt %s --split-input-file 2>&1 | filecheck %s

func.func @first(%a: tensor<4xf32>) {
  %b = infer.add %a, %a : tensor<4xf32>
  func.return
}

// -----

func.func @second(%a: tensor<4xf32>) {
  // expected-error @below {{operands and result have one type}}
  %b = infer.add %a, %a : tensor<8xf32>
  func.return
}

// -----

// expected-error @+1 {{unknown operation 'func.funk'}}
func.funk @third()

// -----

func.func @fourth(%x: tensor<4xf32>) {
  // expected-error-re @+1 {{operand {{[0-9]+}} is used before it is defined}}
  %b = "infer.add"(%c, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = infer.add %x, %x : tensor<4xf32>
  func.return
}

// CHECK:     func.func @first
// CHECK-NOT: func.func @second
// CHECK:     {{.*}}split.mlir:13:8: error: infer.add: operands and result have one type
// CHECK:     {{.*}}split.mlir:20:1: error: unknown operation 'func.funk'
// CHECK:     {{.*}}split.mlir:26:8: error: infer.add: operand 0 is used before it is defined
