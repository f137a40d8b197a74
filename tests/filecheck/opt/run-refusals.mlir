// What `--run` and `--equiv` refuse: functions, arguments, results that differ.
// RUN: rm -rf %t && mkdir %t && cp %s %t/a.mlir
// RUN: sed -e 's/eps = 1.0e-05/eps = 1.0e-03/' -e 's/func @layer/func @decode_layer/' -e 's/i64)/i32)/' -e 's/return %%one, .*/return %%one : tensor<4xf32>/' -e 's/(tensor<4xf32>, tensor<4xf32>)/tensor<4xf32>/' %s > %t/b.mlir
// RUN: sed -n '/^func.func @forward/,/^}/p' %s > %t/c.mlir
// RUN: %{python} -c "import numpy as n; n.save('%t/i', n.ones((2, 4))); n.save('%t/w', n.array(['a'])); n.savez('%t/q', q=n.ones((1, 2, 8)))"
// RUN: %refusals %s %t | filecheck %s

infer.weight @w {layers = #infer.layers<0 to 1>, slot = "w", source = "w", type = tensor<4xf32>}
infer.state @kv {k = tensor<2x8xf32>, layers = #infer.layers<0 to 1>, v = tensor<2x8xf32>}
func.func @layer(%x: tensor<?x4xf32, #infer.dims<tokens, _>>) -> tensor<?x4xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %w = infer.weight_ref @w : tensor<4xf32>
  %y = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x4xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x4xf32, #infer.dims<tokens, _>>
}
func.func @norm(%x: tensor<?x4xf32, #infer.dims<tokens, _>>) -> tensor<?x4xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 8>} {
  %w = infer.weight_ref @w : tensor<4xf32>
  %y = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x4xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x4xf32, #infer.dims<tokens, _>>
}
func.func @forward(%p: tensor<4xf32>, %q: tensor<4xf32>) -> tensor<4xf32> {
  func.return %p : tensor<4xf32>
}
func.func @append(%k: tensor<?x16xf32, #infer.dims<tokens, _>>, %b: !infer.batch, %s: !infer.state<@kv>) -> !infer.state<@kv> {
  %t = infer.state_append %s, %k, %k, %b : !infer.state<@kv>
  func.return %t : !infer.state<@kv>
}
func.func @number(%n: i64) {
  func.return
}
func.func @same(%n: i1) {
  func.return
}
func.func @results(%one: tensor<4xf32>, %two: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  func.return %one, %two : tensor<4xf32>, tensor<4xf32>
}

// $ metainfer-opt a.mlir --run @layr
// CHECK:      error: no function @layr
// CHECK-NEXT: help: did you mean 'layer'?
// $ metainfer-opt a.mlir --run @layer --layer 2 --arg random
// CHECK:      error: @layer does not run layer 2
// CHECK-NEXT: help: it runs 0 to 1
// $ metainfer-opt a.mlir --run @layer
// CHECK:      a.mlir:10:1: error: @layer takes 1 arguments, 0 given
// CHECK:      note: %x: tensor<?x4xf32, #infer.dims<tokens, _>>: FILE.npy, random, or integers (from -8 to 8)
// $ metainfer-opt a.mlir --run @number --arg random
// CHECK:      error: --arg random: no value of type i64 can be given
// $ metainfer-opt a.mlir --run @layer --arg random
// CHECK:      error: the size 'tokens' of tensor<?x4xf32, #infer.dims<tokens, _>> is not known
// CHECK-NEXT: help: declare it in dims
// $ metainfer-opt a.mlir --run @layer --arg i.npy --dim tokens=3
// CHECK:      error: --arg i.npy: it has shape (2, 4), tensor<?x4xf32, #infer.dims<tokens, _>> is wanted
// CHECK-NEXT: note: tokens = 3
// $ metainfer-opt a.mlir --run @layer --arg i.txt
// CHECK:      error: --arg i.txt: no tensor
// $ metainfer-opt a.mlir --run @layer --arg none.npy
// CHECK:      error: --arg none.npy: no such file or directory
// $ metainfer-opt a.mlir --run @layer --arg w.npy
// CHECK:      error: --arg w.npy: it holds <U1, numbers are wanted
// $ metainfer-opt a.mlir --run @append --arg random --arg 1,2 --arg empty
// CHECK:      error: --arg 1,2: no batch
// $ metainfer-opt a.mlir --run @append --arg random --arg ids:1 --arg full
// CHECK:      error: --arg full: no state
// $ metainfer-opt a.mlir --run @append --arg random --arg ids:1 --arg q.npz
// CHECK:      error: --arg q.npz: it holds q; k and v are wanted
// $ metainfer-opt a.mlir --run @append --arg random --arg ids:1@4 --arg empty
// CHECK:      a.mlir:23:1: error: @append cannot run on these: slots [4]

// $ metainfer-opt --equiv a.mlir b.mlir --run @norn
// CHECK:      error: no function @norn on the left side
// CHECK-NEXT: help: did you mean 'norm'?
// $ metainfer-opt --equiv b.mlir a.mlir --run @decode_layer
// CHECK:      error: no function @decode_layer on the right side
// $ metainfer-opt --equiv a.mlir b.mlir --run @number
// CHECK:      b.mlir:27:1: error: @number takes other arguments on each side
// CHECK:      note: left: i64
// CHECK-NEXT: note: right: i32
// $ metainfer-opt --equiv a.mlir b.mlir --run @results
// CHECK:      b.mlir:33:1: error: @results has other results on each side
// $ metainfer-opt --equiv a.mlir %S/Inputs/block.mlir
// CHECK:      error: a.mlir and {{.*}}block.mlir have no function in common
// $ metainfer-opt --equiv a.mlir b.mlir --run @same
// CHECK:      a.mlir:30:1: error: cannot draw a value of type i1
// $ metainfer-opt --equiv a.mlir b.mlir --run @norm
// CHECK:      b.mlir:17:8: error: @norm: the first difference is in infer.rms_norm (%y) of layer 0 at [0, 0]:
// $ metainfer-opt --equiv a.mlir b.mlir --run @layer
// CHECK:      b.mlir:12:8: error: @layer and @decode_layer: the first difference is in infer.rms_norm (%y) of layer 0 at [0, 0]:
// $ metainfer-opt c.mlir -p mislead --validate --load-pass-plugin %S/Inputs/wrong.py
// CHECK:      error: @forward: the results differ at
// CHECK-NEXT: note: inputs: no named sizes, 0 positions held
// $ metainfer-opt c.mlir -p 'mislead{prefix=decode_}' --validate --load-pass-plugin %S/Inputs/wrong.py
// CHECK:      error: @forward and @decode_forward: the results differ at
