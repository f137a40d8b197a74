// RUN: metainfer-opt %S/Inputs/tiny.mispec -p 'resolve-model' | filecheck %s --match-full-lines

// After `resolve-model`. Written by: python tests/support/golden.py --update

// CHECK: builtin.module attributes {metainfer.stage = "resolve-model"} {
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
// CHECK-NEXT: }
