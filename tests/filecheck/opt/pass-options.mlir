// Every option of every pass, right and wrong. What a pass itself says of a wrong value has its place in passes/.
// RUN: metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'reference,apply-quantization{weights=as_stored acts=f32 kv=f16},specialize-entries{entries="one 1..64"},fuse{rules="fusion/gate_up"},select-layouts{context=48}' -o %t.mlir
// RUN: filecheck %s --input-file %t.mlir
// RUN: metainfer-opt %S/../passes/Inputs/kernels.mlir -p 'schedule{threads=3}' | filecheck %s --check-prefix THREADS
// RUN: metainfer-opt %S/../stages/Inputs/tiny.mispec -p reference -o %t.expanded.mlir
// RUN: rm -rf %t.wrong && mkdir %t.wrong && cp %t.expanded.mlir %t.wrong/x.mlir
// RUN: %refusals %s %t.wrong | filecheck %s --check-prefix WRONG

// CHECK:     infer.state @kv {context = 48 : i64, k = tensor<{{.*}}xf16>
// CHECK:     func.func @one_layer
// CHECK-NOT: fusion/qkv
// CHECK:     infer.group attributes {rule = "fusion/gate_up"}

// THREADS:   engine.program @engine_program attributes {package = "engine", states = 0 : i64, threads = 3 : i64

// $ metainfer-opt x.mlir -p 'apply-quantization{weights=q8_0}'
// WRONG:      error: weights 'q8_0' has no mechanism yet
// WRONG-NEXT: help: supported: as_stored
// $ metainfer-opt x.mlir -p 'apply-quantization{acts=f16}'
// WRONG:      error: acts 'f16' has no mechanism yet
// $ metainfer-opt x.mlir -p 'apply-quantization{kv=q4}'
// WRONG:      error: state type 'q4' is none of f32, f16
// $ metainfer-opt x.mlir -p 'specialize-entries{entries="one 2..64"}'
// WRONG:      error: entry one 2..64 must start at 1 and end at or after it
// $ metainfer-opt x.mlir -p 'fuse{rules="fusion/none"}'
// WRONG:      error: no fusion contract fusion/none
// WRONG-NEXT: help: there are: fusion/gate_up, fusion/qkv, fusion/qkv_bias
// $ metainfer-opt x.mlir -p 'select-layouts{context=many}'
// WRONG:      <passes>:1:16: error: option 'context' of pass 'select-layouts' takes int|None, not many
// $ metainfer-opt %S/../passes/Inputs/plan.mlir -p 'select-layouts{context=0}'
// WRONG:      error: context is 0, want 1 token at least
// $ metainfer-opt %S/../passes/Inputs/kernels.mlir -p 'schedule{threads=65}'
// WRONG:      error: threads is '65', want a number from 1 to 64
// $ metainfer-opt x.mlir -p schedule
// WRONG:      error: pass schedule needs: run fill-kernels first
