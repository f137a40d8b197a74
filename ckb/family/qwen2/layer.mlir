!x = tensor<?x${hidden}xf32, #infer.dims<tokens, _>>
!q = tensor<?x${q_dim}xf32, #infer.dims<tokens, _>>
!kv = tensor<?x${kv_dim}xf32, #infer.dims<tokens, _>>
!ffn = tensor<?x${ffn_dim}xf32, #infer.dims<tokens, _>>

func.func @${name}(%x: !x, %batch: !infer.batch, %kv: ${state}) -> (!x, ${state}) attributes {dims = ${dims}} {
  // Attention branch.
  %attn_norm = infer.weight_ref ${attn_norm}
  %h = infer.rms_norm %x, %attn_norm {eps = ${eps}} : !x
  %attn_q = infer.weight_ref ${attn_q}
  %attn_q_bias = infer.weight_ref ${attn_q_bias}
  %attn_k = infer.weight_ref ${attn_k}
  %attn_k_bias = infer.weight_ref ${attn_k_bias}
  %attn_v = infer.weight_ref ${attn_v}
  %attn_v_bias = infer.weight_ref ${attn_v_bias}
  %q = infer.linear %h, %attn_q, %attn_q_bias : !q
  %k = infer.linear %h, %attn_k, %attn_k_bias : !kv
  %v = infer.linear %h, %attn_v, %attn_v_bias : !kv
  %q_rot = infer.rope %q, %batch {head_dim = ${head_dim} : i64, pairing = "${rope_pairing}", theta = ${theta}} : !q
  %k_rot = infer.rope %k, %batch {head_dim = ${head_dim} : i64, pairing = "${rope_pairing}", theta = ${theta}} : !kv
  %kv_next = infer.state_append %kv, %k_rot, %v, %batch : ${state}
  %attn = infer.attend %q_rot, %kv_next, %batch {head_dim = ${head_dim} : i64, kv_heads = ${kv_heads} : i64, mask = "causal", q_heads = ${q_heads} : i64, scale = ${attn_scale}} : !q
  %attn_output = infer.weight_ref ${attn_output}
  %o = infer.linear %attn, %attn_output : !x
  %x_attn = infer.add %x, %o : !x

  // Feed-forward branch.
  %ffn_norm = infer.weight_ref ${ffn_norm}
  %h_ffn = infer.rms_norm %x_attn, %ffn_norm {eps = ${eps}} : !x
  %ffn_gate = infer.weight_ref ${ffn_gate}
  %ffn_up = infer.weight_ref ${ffn_up}
  %gate = infer.linear %h_ffn, %ffn_gate : !ffn
  %up = infer.linear %h_ffn, %ffn_up : !ffn
  %act = infer.gated_act %gate, %up {act = "silu"} : !ffn
  %ffn_down = infer.weight_ref ${ffn_down}
  %down = infer.linear %act, %ffn_down : !x
  %x_ffn = infer.add %x_attn, %down : !x
  func.return %x_ffn, %kv_next : !x, ${state}
}
