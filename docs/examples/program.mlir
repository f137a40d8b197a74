// A step of two kernels: the rows of the first are shared between threads, the columns of the second.
infer.path @f32 {accumulate = "f32", contract = "by hand", fma = true, hash = "", order = "k ascending"}
infer.weight @scale {slot = "norm", source = "scale", type = tensor<32xf32>}
infer.weight @matrix {slot = "down", source = "matrix", type = tensor<32x32xf32>}

kernel.func @norm(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %w: tensor<32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 8>, parts = "tokens", path = @f32} {
  %0 = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
kernel.func @linear(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %w: tensor<32x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 8>, parts = "rows", path = @f32} {
  %0 = infer.linear %x, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
}

engine.program @program attributes {package = "block", threads = 2 : i64} {
  engine.pack @scale {bytes = 128 : i64, offset = 0 : i64, streams = {w = 0 : i64}}
  engine.pack @matrix {bytes = 4096 : i64, offset = 128 : i64, streams = {w = 0 : i64}}
  engine.buffer @x {type = tensor<?x32xf32, #infer.dims<tokens, _>>}
  engine.buffer @h {type = tensor<?x32xf32, #infer.dims<tokens, _>>}
  engine.buffer @y {type = tensor<?x32xf32, #infer.dims<tokens, _>>}
  engine.entry @step attributes {dims = #infer.ranges<tokens = 1 to 8, seqs = 1 to 1>, logits = @y} {
    engine.call @norm {ins = [@x, @scale], outs = [@h]}
    engine.barrier
    engine.call @linear {ins = [@h, @matrix], outs = [@y]}
  }
}
