// RUN: metainfer-opt %S/Inputs/tiny.mispec -p 'resolve-model,expand-model,plan,apply-quantization,specialize-entries,fuse,select-layouts,outline-kernels' | filecheck %s --match-full-lines

// After `outline-kernels`. Written by: python tests/support/golden.py --update

// CHECK: builtin.module attributes {metainfer.stage = "outline-kernels"} {
// CHECK-NEXT:   spec.engine @tiny {
// CHECK-NEXT{LITERAL}:     spec.model "file:tiny.gguf" digest "sha256:7adae83645bc5a10ceb15e82034c17a19764a81fd191175329b59257f60107bd" arch "llama" hparams {layers = 2 : i64, hidden = 64 : i64, ffn_dim = 96 : i64, q_heads = 4 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, v_head_dim = 16 : i64, rope_dim = 16 : i64, max_context = 64 : i64, eps = 9.9999997473787516e-06 : f64, theta = 1.000000e+04 : f64, vocab = 301 : i64} tensors {"blk.{layer}.attn_k.weight" = [[#infer.layers<0 to 1>, tensor<32x64x!infer.q<"q4_1">>]], "blk.{layer}.attn_norm.weight" = [[#infer.layers<0 to 1>, tensor<64xf32>]], "blk.{layer}.attn_output.weight" = [[#infer.layers<0 to 1>, tensor<64x64x!infer.q<"q4_1">>]], "blk.{layer}.attn_q.weight" = [[#infer.layers<0 to 1>, tensor<64x64x!infer.q<"q4_1">>]], "blk.{layer}.attn_v.weight" = [[#infer.layers<0 to 1>, tensor<32x64x!infer.q<"q4_1">>]], "blk.{layer}.ffn_down.weight" = [[#infer.layers<0 to 1>, tensor<64x96x!infer.q<"q4_1">>]], "blk.{layer}.ffn_gate.weight" = [[#infer.layers<0 to 1>, tensor<96x64x!infer.q<"q4_1">>]], "blk.{layer}.ffn_norm.weight" = [[#infer.layers<0 to 1>, tensor<64xf32>]], "blk.{layer}.ffn_up.weight" = [[#infer.layers<0 to 1>, tensor<96x64x!infer.q<"q4_1">>]], output_norm.weight = [[tensor<64xf32>]], token_embd.weight = [[tensor<301x64x!infer.q<"q8_0">>]]}
// CHECK-NEXT:     spec.target cpu
// CHECK-NEXT:     spec.pin isa "==" auto
// CHECK-NEXT:     spec.pin threads "==" "2"
// CHECK-NEXT:     spec.demand context "<=" 64 tokens
// CHECK-NEXT:     spec.demand batch "<=" 1
// CHECK-NEXT:     spec.pin weights "==" as_stored
// CHECK-NEXT:     spec.pin acts "==" f32
// CHECK-NEXT:     spec.pin kv "==" f32
// CHECK-NEXT:     spec.feature sampling.greedy
// CHECK-NEXT:     spec.feature sampling.temperature
// CHECK-NEXT:     spec.feature sampling.top_k
// CHECK-NEXT:     spec.feature sampling.top_p
// CHECK-NEXT:     spec.feature sampling.seed
// CHECK-NEXT:   }
// CHECK-NEXT:   plan.decision @d0 {alternatives = ["as_stored"], because = "5:14: weights as_stored", by = "user", right = "pinned", site = "model", value = "as_stored", what = "weights"}
// CHECK-NEXT:   plan.decision @d1 {alternatives = ["f32"], because = "5:33: acts f32", by = "user", right = "pinned", site = "model", value = "f32", what = "acts"}
// CHECK-NEXT:   plan.decision @d2 {alternatives = ["f32", "f16"], because = "5:43: kv f32", by = "user", right = "pinned", site = "kv", value = "f32", what = "kv"}
// CHECK-NEXT:   plan.decision @d3 {alternatives = ["decode 1..4, prefill 5..64", "step 1..64"], because = "perf_rule/cpu_entries", by = "rule", right = "chosen", site = "model", value = "decode 1..4, prefill 5..64", what = "entries"}
// CHECK-NEXT:   plan.decision @d4 {alternatives = ["yes", "no"], because = "fusion/gate_up: One kernel call for two, and no barrier between them.", by = "rule", right = "chosen", site = "layer:fusion/gate_up", value = "yes", what = "fuse"}
// CHECK-NEXT:   plan.decision @d5 {alternatives = ["yes", "no"], because = "fusion/qkv: One kernel call for three, and no barrier between them.", by = "rule", right = "chosen", site = "layer:fusion/qkv", value = "yes", what = "fuse"}
// CHECK-NEXT:   plan.decision @d6 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "token_embd", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d7 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "attn_q", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d8 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "attn_k", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d9 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "attn_v", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d10 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "attn_output", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d11 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "ffn_gate", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d12 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "ffn_up", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d13 {alternatives = ["rows16"], because = "layout/rows16", by = "rule", right = "chosen", site = "ffn_down", value = "rows16", what = "layout"}
// CHECK-NEXT:   plan.decision @d14 {alternatives = ["kv_blocks16"], because = "layout/kv_blocks16", by = "rule", right = "chosen", site = "kv", value = "kv_blocks16", what = "layout"}
// CHECK-NEXT:   plan.decision @d15 {alternatives = {{.*}}, because = "rule: this machine", by = "rule", right = "chosen", site = "model", value = "{{.*}}", what = "isa"}
// CHECK-NEXT:   plan.decision @d16 {alternatives = ["1", "2", "4", "8"], because = "3:26: threads 2", by = "user", right = "pinned", site = "model", value = "2", what = "threads"}
// CHECK-NEXT:   infer.format @f32 attributes {block = 1 : i64, bytes = 4 : i64, contract = "quant/f32", fields = ["w"], hash = "{{[0-9a-f]+}}", type_id = 0 : i64} {
// CHECK-NEXT:   ^bb0(%w: vector<1xf32>):
// CHECK-NEXT:     infer.decoded %w
// CHECK-NEXT:   }
// CHECK-NEXT:   infer.format @q4_1 attributes {block = 32 : i64, bytes = 20 : i64, contract = "quant/q4_1", fields = ["d", "m", "qs"], hash = "{{[0-9a-f]+}}", type_id = 3 : i64} {
// CHECK-NEXT:   ^bb0(%d: f16, %m: f16, %qs: vector<16xi8>):
// CHECK-NEXT:     %low_mask = arith.constant dense<15> : vector<16xi8>
// CHECK-NEXT:     %four = arith.constant dense<4> : vector<16xi8>
// CHECK-NEXT:     %low = arith.andi %qs, %low_mask : vector<16xi8>
// CHECK-NEXT:     %high = arith.shrui %qs, %four : vector<16xi8>
// CHECK-NEXT:     %nibbles = infer.concat %low, %high : vector<32xi8>
// CHECK-NEXT:     %q = infer.cast %nibbles : vector<32xf32>
// CHECK-NEXT:     %scale = infer.cast %d : vector<32xf32>
// CHECK-NEXT:     %min = infer.cast %m : vector<32xf32>
// CHECK-NEXT:     %scaled = arith.mulf %q, %scale : vector<32xf32>
// CHECK-NEXT:     %w = arith.addf %scaled, %min : vector<32xf32>
// CHECK-NEXT:     infer.decoded %w
// CHECK-NEXT:   }
// CHECK-NEXT:   infer.format @q8_0 attributes {block = 32 : i64, bytes = 34 : i64, contract = "quant/q8_0", fields = ["d", "qs"], hash = "{{[0-9a-f]+}}", type_id = 8 : i64} {
// CHECK-NEXT:   ^bb0(%d: f16, %qs: vector<32xi8>):
// CHECK-NEXT:     %q = infer.cast %qs {signed} : vector<32xf32>
// CHECK-NEXT:     %scale = infer.cast %d : vector<32xf32>
// CHECK-NEXT:     %w = arith.mulf %q, %scale : vector<32xf32>
// CHECK-NEXT:     infer.decoded %w
// CHECK-NEXT:   }
// CHECK-NEXT:   infer.weight @token_embd {slot = "token_embd", source = "token_embd.weight", type = tensor<301x64x!infer.q<"q8_0">, @rows16>}
// CHECK-NEXT:   infer.weight @output_norm {slot = "output_norm", source = "output_norm.weight", type = tensor<64xf32>}
// CHECK-NEXT:   infer.state @kv {context = 64 : i64, k = tensor<2x16xf32>, layers = #infer.layers<0 to 1>, layout = @kv_blocks16, room = 64 : i64, v = tensor<2x16xf32>}
// CHECK-NEXT:   infer.weight @attn_norm {layers = #infer.layers<0 to 1>, slot = "attn_norm", source = "blk.{layer}.attn_norm.weight", type = tensor<64xf32>}
// CHECK-NEXT:   infer.weight @attn_q {layers = #infer.layers<0 to 1>, slot = "attn_q", source = "blk.{layer}.attn_q.weight", type = tensor<64x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @attn_k {layers = #infer.layers<0 to 1>, slot = "attn_k", source = "blk.{layer}.attn_k.weight", type = tensor<32x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @attn_v {layers = #infer.layers<0 to 1>, slot = "attn_v", source = "blk.{layer}.attn_v.weight", type = tensor<32x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @attn_output {layers = #infer.layers<0 to 1>, slot = "attn_output", source = "blk.{layer}.attn_output.weight", type = tensor<64x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @ffn_norm {layers = #infer.layers<0 to 1>, slot = "ffn_norm", source = "blk.{layer}.ffn_norm.weight", type = tensor<64xf32>}
// CHECK-NEXT:   infer.weight @ffn_gate {layers = #infer.layers<0 to 1>, slot = "ffn_gate", source = "blk.{layer}.ffn_gate.weight", type = tensor<96x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @ffn_up {layers = #infer.layers<0 to 1>, slot = "ffn_up", source = "blk.{layer}.ffn_up.weight", type = tensor<96x64x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.weight @ffn_down {layers = #infer.layers<0 to 1>, slot = "ffn_down", source = "blk.{layer}.ffn_down.weight", type = tensor<64x96x!infer.q<"q4_1">, @rows16>}
// CHECK-NEXT:   infer.layout @rows16 {align = 64 : i64, contract = "layout/rows16", hash = "{{[0-9a-f]+}}", lanes = 16 : i64}
// CHECK-NEXT:   infer.layout @kv_blocks16 {align = 64 : i64, contract = "layout/kv_blocks16", hash = "{{[0-9a-f]+}}", lanes = 16 : i64}
// CHECK-NEXT:   infer.path @f32_rows16 {accumulate = "f32", contract = "numeric_path/f32_rows16", fma = true, hash = "{{[0-9a-f]+}}", order = "k ascending, one accumulator per output row, lanes are output rows"}
// CHECK-NEXT:   kernel.func @decode_rms_norm(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<64xf32>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %h = infer.rms_norm %x_in, %weight {eps = 9.9999997473787516e-06 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %h
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_qkv(%h_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %attn_q: tensor<64x64x!infer.q<"q4_1">, @rows16>, %attn_k: tensor<32x64x!infer.q<"q4_1">, @rows16>, %attn_v: tensor<32x64x!infer.q<"q4_1">, @rows16>) -> (q_out: tensor<?x64xf32, #infer.dims<tokens, _>>, k_out: tensor<?x32xf32, #infer.dims<tokens, _>>, v_out: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %q = infer.linear %h_in, %attn_q : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %k = infer.linear %h_in, %attn_k : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %v = infer.linear %h_in, %attn_v : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %q, %k, %v
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_rope(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %q_rot = infer.rope %x_in, %batch {head_dim = 16 : i64, pairing = "interleaved", theta = 1.000000e+04 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %q_rot
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_rope_k_rot(%x_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %k_rot = infer.rope %x_in, %batch {head_dim = 16 : i64, pairing = "interleaved", theta = 1.000000e+04 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %k_rot
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_state_append(%state: !infer.state<@kv>, %k_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %v_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: !infer.state<@kv>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %kv_next = infer.state_append %state, %k_in, %v_in, %batch : !infer.state<@kv>
// CHECK-NEXT:     kernel.return %kv_next
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_attend(%q_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %state: !infer.state<@kv>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
// CHECK-NEXT:     %attn = infer.attend %q_in, %state, %batch {head_dim = 16 : i64, kv_heads = 2 : i64, mask = "causal", q_heads = 4 : i64, scale = 2.500000e-01 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %attn
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_attn_output(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<64x64x!infer.q<"q4_1">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %o = infer.linear %x_in, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %o
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_add(%a_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %b_in: tensor<?x64xf32, #infer.dims<tokens, _>>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %x_attn = infer.add %a_in, %b_in : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %x_attn
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_gate_up(%h_ffn: tensor<?x64xf32, #infer.dims<tokens, _>>, %ffn_gate: tensor<96x64x!infer.q<"q4_1">, @rows16>, %ffn_up: tensor<96x64x!infer.q<"q4_1">, @rows16>) -> (gate: tensor<?x96xf32, #infer.dims<tokens, _>>, up: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %gate = infer.linear %h_ffn, %ffn_gate : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %up = infer.linear %h_ffn, %ffn_up : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %gate, %up
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_gated_act(%gate: tensor<?x96xf32, #infer.dims<tokens, _>>, %up: tensor<?x96xf32, #infer.dims<tokens, _>>) -> (result: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %act = infer.gated_act %gate, %up {act = "silu"} : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %act
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_ffn_down(%x_in: tensor<?x96xf32, #infer.dims<tokens, _>>, %weight: tensor<64x96x!infer.q<"q4_1">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %down = infer.linear %x_in, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %down
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_embed(%batch: !infer.batch, %weight: tensor<301x64x!infer.q<"q8_0">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %x = infer.embed %batch, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %x
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_select_last(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %last = infer.select_last %x_in, %batch : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %last
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_rms_norm_z(%x_in: tensor<?x64xf32, #infer.dims<seqs, _>>, %weight: tensor<64xf32>) -> (result: tensor<?x64xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %z = infer.rms_norm %x_in, %weight {eps = 9.9999997473787516e-06 : f64} : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %z
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @decode_output(%x_in: tensor<?x64xf32, #infer.dims<seqs, _>>, %weight: tensor<301x64x!infer.q<"q8_0">, @rows16>) -> (result: tensor<?x301xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %logits = infer.linear %x_in, %weight : tensor<?x301xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %logits
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_rms_norm(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<64xf32>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %h = infer.rms_norm %x_in, %weight {eps = 9.9999997473787516e-06 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %h
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_qkv(%h_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %attn_q: tensor<64x64x!infer.q<"q4_1">, @rows16>, %attn_k: tensor<32x64x!infer.q<"q4_1">, @rows16>, %attn_v: tensor<32x64x!infer.q<"q4_1">, @rows16>) -> (q_out: tensor<?x64xf32, #infer.dims<tokens, _>>, k_out: tensor<?x32xf32, #infer.dims<tokens, _>>, v_out: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %q = infer.linear %h_in, %attn_q : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %k = infer.linear %h_in, %attn_k : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %v = infer.linear %h_in, %attn_v : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %q, %k, %v
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_rope(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %q_rot = infer.rope %x_in, %batch {head_dim = 16 : i64, pairing = "interleaved", theta = 1.000000e+04 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %q_rot
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_rope_k_rot(%x_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %k_rot = infer.rope %x_in, %batch {head_dim = 16 : i64, pairing = "interleaved", theta = 1.000000e+04 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %k_rot
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_state_append(%state: !infer.state<@kv>, %k_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %v_in: tensor<?x32xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: !infer.state<@kv>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %kv_next = infer.state_append %state, %k_in, %v_in, %batch : !infer.state<@kv>
// CHECK-NEXT:     kernel.return %kv_next
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_attend(%q_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %state: !infer.state<@kv>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "heads", path = @f32_rows16} {
// CHECK-NEXT:     %attn = infer.attend %q_in, %state, %batch {head_dim = 16 : i64, kv_heads = 2 : i64, mask = "causal", q_heads = 4 : i64, scale = 2.500000e-01 : f64} : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %attn
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_attn_output(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %weight: tensor<64x64x!infer.q<"q4_1">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %o = infer.linear %x_in, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %o
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_add(%a_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %b_in: tensor<?x64xf32, #infer.dims<tokens, _>>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %x_attn = infer.add %a_in, %b_in : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %x_attn
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_gate_up(%h_ffn: tensor<?x64xf32, #infer.dims<tokens, _>>, %ffn_gate: tensor<96x64x!infer.q<"q4_1">, @rows16>, %ffn_up: tensor<96x64x!infer.q<"q4_1">, @rows16>) -> (gate: tensor<?x96xf32, #infer.dims<tokens, _>>, up: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %gate = infer.linear %h_ffn, %ffn_gate : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %up = infer.linear %h_ffn, %ffn_up : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %gate, %up
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_gated_act(%gate: tensor<?x96xf32, #infer.dims<tokens, _>>, %up: tensor<?x96xf32, #infer.dims<tokens, _>>) -> (result: tensor<?x96xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %act = infer.gated_act %gate, %up {act = "silu"} : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %act
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_ffn_down(%x_in: tensor<?x96xf32, #infer.dims<tokens, _>>, %weight: tensor<64x96x!infer.q<"q4_1">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %down = infer.linear %x_in, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %down
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_embed(%batch: !infer.batch, %weight: tensor<301x64x!infer.q<"q8_0">, @rows16>) -> (result: tensor<?x64xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %x = infer.embed %batch, %weight : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     kernel.return %x
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_select_last(%x_in: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch) -> (result: tensor<?x64xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "columns", path = @f32_rows16} {
// CHECK-NEXT:     %last = infer.select_last %x_in, %batch : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %last
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_rms_norm_z(%x_in: tensor<?x64xf32, #infer.dims<seqs, _>>, %weight: tensor<64xf32>) -> (result: tensor<?x64xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "tokens", path = @f32_rows16} {
// CHECK-NEXT:     %z = infer.rms_norm %x_in, %weight {eps = 9.9999997473787516e-06 : f64} : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %z
// CHECK-NEXT:   }
// CHECK-NEXT:   kernel.func @prefill_output(%x_in: tensor<?x64xf32, #infer.dims<seqs, _>>, %weight: tensor<301x64x!infer.q<"q8_0">, @rows16>) -> (result: tensor<?x301xf32, #infer.dims<seqs, _>>) {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, parts = "rows", path = @f32_rows16} {
// CHECK-NEXT:     %logits = infer.linear %x_in, %weight : tensor<?x301xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     kernel.return %logits
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @decode_layer(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch, %kv: !infer.state<@kv>) -> (tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>} {
// CHECK-NEXT:     %attn_norm = infer.weight_ref @attn_norm : tensor<64xf32>
// CHECK-NEXT:     %h = kernel.call @decode_rms_norm, %x, %attn_norm : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %attn_q = infer.weight_ref @attn_q : tensor<64x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %attn_k = infer.weight_ref @attn_k : tensor<32x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %attn_v = infer.weight_ref @attn_v : tensor<32x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %q, %k, %v = kernel.call @decode_qkv, %h, %attn_q, %attn_k, %attn_v : tensor<?x64xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %q_rot = kernel.call @decode_rope, %q, %batch : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %k_rot = kernel.call @decode_rope_k_rot, %k, %batch : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %kv_next = kernel.call @decode_state_append, %kv, %k_rot, %v, %batch : !infer.state<@kv>
// CHECK-NEXT:     %attn = kernel.call @decode_attend, %q_rot, %kv_next, %batch : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %attn_output = infer.weight_ref @attn_output : tensor<64x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %o = kernel.call @decode_attn_output, %attn, %attn_output : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %x_attn = kernel.call @decode_add, %x, %o : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_norm = infer.weight_ref @ffn_norm : tensor<64xf32>
// CHECK-NEXT:     %h_ffn = kernel.call @decode_rms_norm, %x_attn, %ffn_norm : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_gate = infer.weight_ref @ffn_gate : tensor<96x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %ffn_up = infer.weight_ref @ffn_up : tensor<96x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %gate, %up = kernel.call @decode_gate_up, %h_ffn, %ffn_gate, %ffn_up : tensor<?x96xf32, #infer.dims<tokens, _>>, tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %act = kernel.call @decode_gated_act, %gate, %up : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_down = infer.weight_ref @ffn_down : tensor<64x96x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %down = kernel.call @decode_ffn_down, %act, %ffn_down : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %x_ffn = kernel.call @decode_add, %x_attn, %down : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     func.return %x_ffn, %kv_next : tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @decode_forward(%batch: !infer.batch, %kv: !infer.state<@kv>) -> (tensor<?x301xf32, #infer.dims<seqs, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>} {
// CHECK-NEXT:     %token_embd = infer.weight_ref @token_embd : tensor<301x64x!infer.q<"q8_0">, @rows16>
// CHECK-NEXT:     %x = kernel.call @decode_embed, %batch, %token_embd : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %y, %kv_next = infer.layers %x, %batch, %kv {schedule = #infer.schedule<@decode_layer 0 to 1>} : tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
// CHECK-NEXT:     %last = kernel.call @decode_select_last, %y, %batch : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     %output_norm = infer.weight_ref @output_norm : tensor<64xf32>
// CHECK-NEXT:     %z = kernel.call @decode_rms_norm_z, %last, %output_norm : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     %output = infer.weight_ref @token_embd : tensor<301x64x!infer.q<"q8_0">, @rows16>
// CHECK-NEXT:     %logits = kernel.call @decode_output, %z, %output : tensor<?x301xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     func.return %logits, %kv_next : tensor<?x301xf32, #infer.dims<seqs, _>>, !infer.state<@kv>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @prefill_layer(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, %batch: !infer.batch, %kv: !infer.state<@kv>) -> (tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>} {
// CHECK-NEXT:     %attn_norm = infer.weight_ref @attn_norm : tensor<64xf32>
// CHECK-NEXT:     %h = kernel.call @prefill_rms_norm, %x, %attn_norm : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %attn_q = infer.weight_ref @attn_q : tensor<64x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %attn_k = infer.weight_ref @attn_k : tensor<32x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %attn_v = infer.weight_ref @attn_v : tensor<32x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %q, %k, %v = kernel.call @prefill_qkv, %h, %attn_q, %attn_k, %attn_v : tensor<?x64xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %q_rot = kernel.call @prefill_rope, %q, %batch : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %k_rot = kernel.call @prefill_rope_k_rot, %k, %batch : tensor<?x32xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %kv_next = kernel.call @prefill_state_append, %kv, %k_rot, %v, %batch : !infer.state<@kv>
// CHECK-NEXT:     %attn = kernel.call @prefill_attend, %q_rot, %kv_next, %batch : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %attn_output = infer.weight_ref @attn_output : tensor<64x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %o = kernel.call @prefill_attn_output, %attn, %attn_output : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %x_attn = kernel.call @prefill_add, %x, %o : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_norm = infer.weight_ref @ffn_norm : tensor<64xf32>
// CHECK-NEXT:     %h_ffn = kernel.call @prefill_rms_norm, %x_attn, %ffn_norm : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_gate = infer.weight_ref @ffn_gate : tensor<96x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %ffn_up = infer.weight_ref @ffn_up : tensor<96x64x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %gate, %up = kernel.call @prefill_gate_up, %h_ffn, %ffn_gate, %ffn_up : tensor<?x96xf32, #infer.dims<tokens, _>>, tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %act = kernel.call @prefill_gated_act, %gate, %up : tensor<?x96xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %ffn_down = infer.weight_ref @ffn_down : tensor<64x96x!infer.q<"q4_1">, @rows16>
// CHECK-NEXT:     %down = kernel.call @prefill_ffn_down, %act, %ffn_down : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %x_ffn = kernel.call @prefill_add, %x_attn, %down : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     func.return %x_ffn, %kv_next : tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @prefill_forward(%batch: !infer.batch, %kv: !infer.state<@kv>) -> (tensor<?x301xf32, #infer.dims<seqs, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>} {
// CHECK-NEXT:     %token_embd = infer.weight_ref @token_embd : tensor<301x64x!infer.q<"q8_0">, @rows16>
// CHECK-NEXT:     %x = kernel.call @prefill_embed, %batch, %token_embd : tensor<?x64xf32, #infer.dims<tokens, _>>
// CHECK-NEXT:     %y, %kv_next = infer.layers %x, %batch, %kv {schedule = #infer.schedule<@prefill_layer 0 to 1>} : tensor<?x64xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
// CHECK-NEXT:     %last = kernel.call @prefill_select_last, %y, %batch : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     %output_norm = infer.weight_ref @output_norm : tensor<64xf32>
// CHECK-NEXT:     %z = kernel.call @prefill_rms_norm_z, %last, %output_norm : tensor<?x64xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     %output = infer.weight_ref @token_embd : tensor<301x64x!infer.q<"q8_0">, @rows16>
// CHECK-NEXT:     %logits = kernel.call @prefill_output, %z, %output : tensor<?x301xf32, #infer.dims<seqs, _>>
// CHECK-NEXT:     func.return %logits, %kv_next : tensor<?x301xf32, #infer.dims<seqs, _>>, !infer.state<@kv>
// CHECK-NEXT:   }
// CHECK-NEXT: }
