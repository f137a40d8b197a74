// RUN: metainfer-opt %s | filecheck %s
// RUN: metainfer-opt %s | metainfer-opt | filecheck %s
// RUN: metainfer-opt %s --print-op-generic | metainfer-opt - | filecheck %s
// RUN: metainfer-opt %s --print-debuginfo | metainfer-opt - --print-debuginfo | filecheck %s --check-prefix LOC

func.func @add(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i32
  func.return %sum : i32 loc("model.mispec":2:3)
}

// CHECK:       builtin.module {
// CHECK-NEXT:    func.func @add(%a: i32, %b: i32) -> i32 {
// CHECK-NEXT:      %sum = arith.addi %a, %b : i32
// CHECK-NEXT:      func.return %sum : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// The tool places what has no location, and keeps what has one.
// LOC:         %sum = arith.addi %a, %b : i32 loc("{{.*}}roundtrip.mlir":7:10)
// LOC-NEXT:    func.return %sum : i32 loc("model.mispec":2:3)
