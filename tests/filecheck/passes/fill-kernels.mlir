// RUN: metainfer-opt %s -p fill-kernels --split-input-file --verify-diagnostics

// The factor is more than an f32 can hold: what a body computes is another class of number.

infer.path @p {accumulate = "f32", contract = "numeric_path/example", fma = true, hash = "00", order = ""}
// expected-error @below {{no body of kernel @scale was admitted}}
kernel.func @scale(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.scale %x {factor = 1.0e+300 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
}

// -----

infer.path @p {accumulate = "f32", contract = "numeric_path/example", fma = true, hash = "00", order = ""}
// expected-error @unknown {{unknown instruction set 'z80'}}
kernel.func @copy(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p, provider = "hand", target = "c:z80"} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y[0] = x[0] + x[0];"]

// -----

func.func @forward() {
  // expected-error @unknown {{pass fill-kernels needs: run outline-kernels first}}
  func.return
}
