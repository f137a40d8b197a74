// RUN: metainfer-opt %S/Inputs/tiny.mispec -p 'resolve-model,expand-model,plan,apply-quantization,specialize-entries,fuse,select-layouts,outline-kernels,fill-kernels,schedule,plan-memory' | filecheck %s --match-full-lines

// After `plan-memory`. Written by: python tests/support/golden.py --update

// CHECK: builtin.module attributes {metainfer.stage = "plan-memory"} {
// CHECK:   engine.program @tiny_program attributes {arena = 132288 : i64, package = "tiny", states = 32768 : i64, threads = 2 : i64, weights = 60352 : i64} {
// CHECK-NEXT:     engine.pack @token_embd {bytes = 20672 : i64, offset = 0 : i64, streams = {d = 0 : i64, qs = 1216 : i64}}
// CHECK-NEXT:     engine.pack @output_norm {bytes = 256 : i64, offset = 20672 : i64, streams = {w = 0 : i64}}
// CHECK-NEXT:     engine.pack @attn_norm {bytes = 256 : i64, layers = #infer.layers<0 to 1>, offset = 20928 : i64, streams = {w = 0 : i64}}
// CHECK-NEXT:     engine.pack @attn_q {bytes = 2560 : i64, layers = #infer.layers<0 to 1>, offset = 21440 : i64, streams = {d = 0 : i64, m = 256 : i64, qs = 512 : i64}}
// CHECK-NEXT:     engine.pack @attn_k {bytes = 1280 : i64, layers = #infer.layers<0 to 1>, offset = 26560 : i64, streams = {d = 0 : i64, m = 128 : i64, qs = 256 : i64}}
// CHECK-NEXT:     engine.pack @attn_v {bytes = 1280 : i64, layers = #infer.layers<0 to 1>, offset = 29120 : i64, streams = {d = 0 : i64, m = 128 : i64, qs = 256 : i64}}
// CHECK-NEXT:     engine.pack @attn_output {bytes = 2560 : i64, layers = #infer.layers<0 to 1>, offset = 31680 : i64, streams = {d = 0 : i64, m = 256 : i64, qs = 512 : i64}}
// CHECK-NEXT:     engine.pack @ffn_norm {bytes = 256 : i64, layers = #infer.layers<0 to 1>, offset = 36800 : i64, streams = {w = 0 : i64}}
// CHECK-NEXT:     engine.pack @ffn_gate {bytes = 3840 : i64, layers = #infer.layers<0 to 1>, offset = 37312 : i64, streams = {d = 0 : i64, m = 384 : i64, qs = 768 : i64}}
// CHECK-NEXT:     engine.pack @ffn_up {bytes = 3840 : i64, layers = #infer.layers<0 to 1>, offset = 44992 : i64, streams = {d = 0 : i64, m = 384 : i64, qs = 768 : i64}}
// CHECK-NEXT:     engine.pack @ffn_down {bytes = 3840 : i64, layers = #infer.layers<0 to 1>, offset = 52672 : i64, streams = {d = 0 : i64, m = 384 : i64, qs = 768 : i64}}
// CHECK-NEXT:     engine.state @kv {bytes = 16384 : i64, context = 64 : i64, layers = #infer.layers<0 to 1>, offset = 0 : i64}
// CHECK-NEXT:     engine.runtime {features = ["sampling.greedy", "sampling.seed", "sampling.temperature", "sampling.top_k", "sampling.top_p"]}
// CHECK-NEXT:     engine.buffer @decode_x {offset = 7360 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_h {offset = 2752 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_q {offset = 5312 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_k {offset = 3776 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_v {offset = 8896 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_q_rot {offset = 6336 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_k_rot {offset = 8384 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_attn {offset = 2752 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_o {offset = 5312 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_h_ffn {offset = 5312 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_gate {offset = 1216 : i64, type = tensor<?x96xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_up {offset = 2752 : i64, type = tensor<?x96xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_down {offset = 4288 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @decode_last {offset = 2752 : i64, type = tensor<?x64xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.buffer @decode_z {offset = 1216 : i64, type = tensor<?x64xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.buffer @decode_logits {offset = 0 : i64, type = tensor<?x301xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.block @decode_layer {
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_rms_norm {ins = [@decode_x, @attn_norm], outs = [@decode_h]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_qkv {ins = [@decode_h, @attn_q, @attn_k, @attn_v], outs = [@decode_q, @decode_k, @decode_v]}
// CHECK-NEXT:       engine.call @decode_rope {ins = [@decode_q, unit], outs = [@decode_q_rot]}
// CHECK-NEXT:       engine.call @decode_rope_k_rot {ins = [@decode_k, unit], outs = [@decode_k_rot]}
// CHECK-NEXT:       engine.call @decode_state_append {ins = [@kv, @decode_k_rot, @decode_v, unit], outs = []}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_attend {ins = [@decode_q_rot, @kv, unit], outs = [@decode_attn]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_attn_output {ins = [@decode_attn, @attn_output], outs = [@decode_o]}
// CHECK-NEXT:       engine.call @decode_add {ins = [@decode_x, @decode_o], outs = [@decode_x]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_rms_norm {ins = [@decode_x, @ffn_norm], outs = [@decode_h_ffn]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_gate_up {ins = [@decode_h_ffn, @ffn_gate, @ffn_up], outs = [@decode_gate, @decode_up]}
// CHECK-NEXT:       engine.call @decode_gated_act {ins = [@decode_gate, @decode_up], outs = [@decode_gate]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_ffn_down {ins = [@decode_gate, @ffn_down], outs = [@decode_down]}
// CHECK-NEXT:       engine.call @decode_add {ins = [@decode_x, @decode_down], outs = [@decode_x]}
// CHECK-NEXT:     }
// CHECK-NEXT:     engine.entry @decode attributes {dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, logits = @decode_logits} {
// CHECK-NEXT:       engine.call @decode_embed {ins = [unit, @token_embd], outs = [@decode_x]}
// CHECK-NEXT:       engine.layers {schedule = #infer.schedule<@decode_layer 0 to 1>}
// CHECK-NEXT:       engine.call @decode_select_last {ins = [@decode_x, unit], outs = [@decode_last]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_rms_norm_z {ins = [@decode_last, @output_norm], outs = [@decode_z]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @decode_output {ins = [@decode_z, @token_embd], outs = [@decode_logits]}
// CHECK-NEXT:     }
// CHECK-NEXT:     engine.buffer @prefill_x {offset = 99520 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_h {offset = 25792 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_q {offset = 66752 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_k {offset = 42176 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_v {offset = 124096 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_q_rot {offset = 83136 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_k_rot {offset = 115904 : i64, type = tensor<?x32xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_attn {offset = 25792 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_o {offset = 66752 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_h_ffn {offset = 66752 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_gate {offset = 1216 : i64, type = tensor<?x96xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_up {offset = 25792 : i64, type = tensor<?x96xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_down {offset = 50368 : i64, type = tensor<?x64xf32, #infer.dims<tokens, _>>}
// CHECK-NEXT:     engine.buffer @prefill_last {offset = 25792 : i64, type = tensor<?x64xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.buffer @prefill_z {offset = 1216 : i64, type = tensor<?x64xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.buffer @prefill_logits {offset = 0 : i64, type = tensor<?x301xf32, #infer.dims<seqs, _>>}
// CHECK-NEXT:     engine.block @prefill_layer {
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_rms_norm {ins = [@prefill_x, @attn_norm], outs = [@prefill_h]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_qkv {ins = [@prefill_h, @attn_q, @attn_k, @attn_v], outs = [@prefill_q, @prefill_k, @prefill_v]}
// CHECK-NEXT:       engine.call @prefill_rope {ins = [@prefill_q, unit], outs = [@prefill_q_rot]}
// CHECK-NEXT:       engine.call @prefill_rope_k_rot {ins = [@prefill_k, unit], outs = [@prefill_k_rot]}
// CHECK-NEXT:       engine.call @prefill_state_append {ins = [@kv, @prefill_k_rot, @prefill_v, unit], outs = []}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_attend {ins = [@prefill_q_rot, @kv, unit], outs = [@prefill_attn]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_attn_output {ins = [@prefill_attn, @attn_output], outs = [@prefill_o]}
// CHECK-NEXT:       engine.call @prefill_add {ins = [@prefill_x, @prefill_o], outs = [@prefill_x]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_rms_norm {ins = [@prefill_x, @ffn_norm], outs = [@prefill_h_ffn]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_gate_up {ins = [@prefill_h_ffn, @ffn_gate, @ffn_up], outs = [@prefill_gate, @prefill_up]}
// CHECK-NEXT:       engine.call @prefill_gated_act {ins = [@prefill_gate, @prefill_up], outs = [@prefill_gate]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_ffn_down {ins = [@prefill_gate, @ffn_down], outs = [@prefill_down]}
// CHECK-NEXT:       engine.call @prefill_add {ins = [@prefill_x, @prefill_down], outs = [@prefill_x]}
// CHECK-NEXT:     }
// CHECK-NEXT:     engine.entry @prefill attributes {dims = #infer.ranges<tokens = 5 to 64, seqs = 1 to 1>, logits = @prefill_logits} {
// CHECK-NEXT:       engine.call @prefill_embed {ins = [unit, @token_embd], outs = [@prefill_x]}
// CHECK-NEXT:       engine.layers {schedule = #infer.schedule<@prefill_layer 0 to 1>}
// CHECK-NEXT:       engine.call @prefill_select_last {ins = [@prefill_x, unit], outs = [@prefill_last]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_rms_norm_z {ins = [@prefill_last, @output_norm], outs = [@prefill_z]}
// CHECK-NEXT:       engine.barrier
// CHECK-NEXT:       engine.call @prefill_output {ins = [@prefill_z, @token_embd], outs = [@prefill_logits]}
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
