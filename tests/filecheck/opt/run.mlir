// RUN: metainfer-opt %S/Inputs/block.mlir --run @block --arg random --dim tokens=3 --mode magnitude --trace 2>&1 | filecheck %s
// RUN: metainfer-opt %S/Inputs/block.mlir -p fuse --validate --verify-roundtrip -o %t.mlir
// RUN: metainfer-opt --equiv %S/Inputs/block.mlir %t.mlir | filecheck %s --check-prefix EQUAL
// RUN: sed 's/source = "up"/source = "gate"/' %t.mlir > %t.wrong.mlir
// RUN: not metainfer-opt --equiv %S/Inputs/block.mlir %t.wrong.mlir 2>&1 | filecheck %s --check-prefix WRONG

// CHECK:      %g = infer.weight_ref: 8x4 weight
// CHECK:      %y = infer.gated_act: 3x8: {{.*}}, rms {{.*}}, bound {{.*}}
// CHECK-NEXT: result 0: 3x8: {{.*}} to {{.*}}, rms {{.*}}, bound {{.*}}

// EQUAL: equal on 2 calls: @block

// WRONG:      {{.*}}error: @block: the first difference is in infer.weight_ref (%u) at [0, 0]:
