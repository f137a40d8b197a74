// RUN: not metainfer-opt %s 2>&1 | filecheck %s

func.func @f(%a: i32) -> i32 {
  %b = "arith.addi"(%c, %a) : (i32, i32) -> i32
  %c = "arith.addi"(%a, %a) : (i32, i32) -> i32
  func.return %b : i32
}

// CHECK: {{.*}}dominance.mlir:4:8: error: arith.addi: operand 0 is used before it is defined
