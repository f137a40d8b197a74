// Every option of every pass, right and wrong.
// RUN: metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'reference,apply-quantization{weights=as_stored acts=f32 kv=f16},specialize-entries{entries="one 1..64"},fuse{rules="fusion/gate_up"},select-layouts{context=48}' -o %t.mlir
// RUN: filecheck %s --input-file %t.mlir
// RUN: not metainfer-opt %t.mlir -p 'schedule{threads=0}' 2>&1 | filecheck %s --check-prefix NEED
// RUN: not metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'reference,apply-quantization{kv=q4}' 2>&1 | filecheck %s --check-prefix KV
// RUN: not metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'reference,specialize-entries{entries="one 2..64"}' 2>&1 | filecheck %s --check-prefix BOX
// RUN: not metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'reference,fuse{rules="fusion/none"}' 2>&1 | filecheck %s --check-prefix RULE
// RUN: not metainfer-opt %S/../stages/Inputs/tiny.mispec -p 'select-layouts{context=many}' 2>&1 | filecheck %s --check-prefix TYPE

// CHECK:     infer.state @kv {context = 48 : i64, k = tensor<{{.*}}xf16>
// CHECK:     func.func @one_layer
// CHECK-NOT: fusion/qkv
// CHECK:     infer.group attributes {rule = "fusion/gate_up"}

// NEED: error: pass schedule needs: run fill-kernels first
// KV:   error: state type 'q4' is none of f32, f16
// BOX:  error: {{.*}}
// RULE: error: no fusion contract fusion/none
// TYPE: error: option 'context' of pass 'select-layouts' takes int|None, not many
