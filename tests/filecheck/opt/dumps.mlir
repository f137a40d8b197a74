// RUN: metainfer-opt %S/Inputs/block.mlir -p fuse,fuse --mlir-print-ir-after-change --only=@block -o %t 2>&1 | filecheck %s --check-prefix CHANGE
// RUN: metainfer-opt %S/Inputs/block.mlir -p fuse --print-ir-before-all --only=@up -o %t 2>&1 | filecheck %s --check-prefix BEFORE
// RUN: metainfer-opt %S/Inputs/block.mlir -p fuse --print-ir-diff -o %t 2>&1 | filecheck %s --check-prefix DIFF
// RUN: not metainfer-opt %S/Inputs/block.mlir -p fuse --print-ir-after=fues 2>&1 | filecheck %s --check-prefix NAME

// CHANGE:      // -----// IR Dump After fuse //----- //
// CHANGE-NEXT: func.func @block
// CHANGE:        %gate, %up = infer.group attributes {rule = "fusion/gate_up"}
// CHANGE-NOT:  IR Dump

// BEFORE:      // -----// IR Dump Before fuse //----- //
// BEFORE-NEXT: infer.weight @up
// BEFORE-NOT:  func.func

// DIFF:      --- before fuse
// DIFF-NEXT: +++ after fuse
// DIFF:      -    %gate = infer.linear
// DIFF:      +    %gate, %up = infer.group

// NAME:      error: unknown pass 'fues' to print around
// NAME-NEXT: help: did you mean 'fuse'?
