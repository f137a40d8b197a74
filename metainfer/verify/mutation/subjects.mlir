// Kernels whose bodies are spoiled, one at a time: every op class, and formats of every shape.
// Sizes are small and odd, but hold more than one quant block, row group, head and tile.
builtin.module {
  infer.state @kv {context = 72 : i64, k = tensor<2x8xf32>, layers = #infer.layers<0 to 1>, layout = @kv_blocks16, room = 72 : i64, v = tensor<2x8xf32>}
  infer.state @ring {context = 96 : i64, k = tensor<2x8xf16>, layers = #infer.layers<0 to 1>, layout = @kv_blocks16, room = 48 : i64, v = tensor<2x8xf16>, window = 24 : i64}

  kernel.func @linear_q4_1(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<40x64x!infer.q<"q4_1">, @rows16>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight : tensor<?x40xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @linear_q8_0(%x: tensor<?x96xf32, #infer.dims<tokens, _>>, %weight: tensor<48x96x!infer.q<"q8_0">, @rows16>) -> (y: tensor<?x48xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight : tensor<?x48xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @linear_q5_0_bias(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<40x64x!infer.q<"q5_0">, @rows16>, %bias: tensor<40xf32>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight, %bias : tensor<?x40xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @linear_q4_k(%x: tensor<?x512xf32, #infer.dims<tokens, _>>, %weight: tensor<24x512x!infer.q<"q4_k">, @rows16>) -> (y: tensor<?x24xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 5>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight : tensor<?x24xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @linear_q6_k(%x: tensor<?x512xf32, #infer.dims<tokens, _>>, %weight: tensor<24x512x!infer.q<"q6_k">, @rows16>) -> (y: tensor<?x24xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 5>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight : tensor<?x24xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @linear_f16(%x: tensor<?x48xf32, #infer.dims<tokens, _>>, %weight: tensor<40x48x!infer.q<"f16">, @rows16>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @f32_rows16} {
    %y = infer.linear %x, %weight : tensor<?x40xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @qkv(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, %wq: tensor<48x64x!infer.q<"q4_0">, @rows16>, %wk: tensor<16x64x!infer.q<"q4_0">, @rows16>, %wv: tensor<16x64x!infer.q<"q8_0">, @rows16>) -> (q: tensor<?x48xf32, #infer.dims<tokens, _>>, k: tensor<?x16xf32, #infer.dims<tokens, _>>, v: tensor<?x16xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 9>, parts = "rows", path = @f32_rows16} {
    %q = infer.linear %x, %wq : tensor<?x48xf32, #infer.dims<tokens, _>>
    %k = infer.linear %x, %wk : tensor<?x16xf32, #infer.dims<tokens, _>>
    %v = infer.linear %x, %wv : tensor<?x16xf32, #infer.dims<tokens, _>>
    kernel.return %q, %k, %v
  }
  kernel.func @embed(%batch: !infer.batch, %weight: tensor<100x64x!infer.q<"q8_0">, @rows16>) -> (y: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
    %y = infer.embed %batch, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @rms_norm(%x: tensor<?x80xf32, #infer.dims<tokens, _>>, %weight: tensor<80xf32>) -> (y: tensor<?x80xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "tokens", path = @f32_rows16} {
    %y = infer.rms_norm %x, %weight {eps = 1.0e-05 : f64} : tensor<?x80xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @rms_norm_heads(%x: tensor<?x96xf32, #infer.dims<tokens, _>>, %weight: tensor<32xf32>) -> (y: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "tokens", path = @f32_rows16} {
    %y = infer.rms_norm %x, %weight {eps = 1.0e-06 : f64} : tensor<?x96xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @rope_half(%x: tensor<?x96xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (y: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
    %y = infer.rope %x, %batch {head_dim = 32 : i64, pairing = "half", theta = 1.0e+06 : f64} : tensor<?x96xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @rope_interleaved(%x: tensor<?x96xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (y: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
    %y = infer.rope %x, %batch {head_dim = 32 : i64, pairing = "interleaved", theta = 1.0e+04 : f64} : tensor<?x96xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @append(%state: !infer.state<@kv>, %k: tensor<?x16xf32, #infer.dims<tokens, _>>, %v: tensor<?x16xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (s: !infer.state<@kv>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
    %s = infer.state_append %state, %k, %v, %batch : !infer.state<@kv>
    kernel.return %s
  }
  kernel.func @append_ring(%state: !infer.state<@ring>, %k: tensor<?x16xf32, #infer.dims<tokens, _>>, %v: tensor<?x16xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (s: !infer.state<@ring>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
    %s = infer.state_append %state, %k, %v, %batch : !infer.state<@ring>
    kernel.return %s
  }
  kernel.func @attend(%q: tensor<?x48xf32, #infer.dims<tokens, _>>, %state: !infer.state<@kv>, %batch: !infer.batch) -> (y: tensor<?x48xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
    %y = infer.attend %q, %state, %batch {head_dim = 8 : i64, kv_heads = 2 : i64, mask = "causal", q_heads = 6 : i64, scale = 3.5355339059327379e-01 : f64} : tensor<?x48xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @attend_window(%q: tensor<?x48xf32, #infer.dims<tokens, _>>, %state: !infer.state<@ring>, %batch: !infer.batch) -> (y: tensor<?x48xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
    %y = infer.attend %q, %state, %batch {head_dim = 8 : i64, kv_heads = 2 : i64, mask = "causal", q_heads = 6 : i64, scale = 3.5355339059327379e-01 : f64, window = 24 : i64} : tensor<?x48xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @silu(%gate: tensor<?x304xf32, #infer.dims<tokens, _>>, %up: tensor<?x304xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x304xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "columns", path = @f32_rows16} {
    %y = infer.gated_act %gate, %up {act = "silu"} : tensor<?x304xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @gelu(%gate: tensor<?x304xf32, #infer.dims<tokens, _>>, %up: tensor<?x304xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x304xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "columns", path = @f32_rows16} {
    %y = infer.gated_act %gate, %up {act = "gelu_tanh"} : tensor<?x304xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @add(%a: tensor<?x304xf32, #infer.dims<tokens, _>>, %b: tensor<?x304xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x304xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "columns", path = @f32_rows16} {
    %y = infer.add %a, %b : tensor<?x304xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @scale(%x: tensor<?x304xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x304xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 20>, parts = "columns", path = @f32_rows16} {
    %y = infer.scale %x {factor = 2.5298221281347036e+01 : f64} : tensor<?x304xf32, #infer.dims<tokens, _>>
    kernel.return %y
  }
  kernel.func @select_last(%x: tensor<?x304xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (y: tensor<?x304xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 3>, parts = "columns", path = @f32_rows16} {
    %y = infer.select_last %x, %batch : tensor<?x304xf32, #infer.dims<seqs, _>>
    kernel.return %y
  }
}
