!x = tensor<?x${hidden}xf32, #infer.dims<tokens, _>>
!last = tensor<?x${hidden}xf32, #infer.dims<seqs, _>>
!logits = tensor<?x${vocab}xf32, #infer.dims<seqs, _>>

func.func @forward(%batch: !infer.batch, %kv_local: !infer.state<@kv_local>, %kv: !infer.state<@kv>) -> (!logits, !infer.state<@kv_local>, !infer.state<@kv>) attributes {dims = ${dims}} {
  %token_embd = infer.weight_ref ${token_embd}
  %embedded = infer.embed %batch, %token_embd : !x
  %x = infer.scale %embedded {factor = ${embed_scale}} : !x
  %y, %kv_local_next, %kv_next = infer.layers %x, %batch, %kv_local, %kv {schedule = ${schedule}} : !x, !infer.state<@kv_local>, !infer.state<@kv>
  %last = infer.select_last %y, %batch : !last
  %output_norm = infer.weight_ref ${output_norm}
  %z = infer.rms_norm %last, %output_norm {eps = ${eps}} : !last
  %output = infer.weight_ref ${output}
  %logits = infer.linear %z, %output : !logits
  func.return %logits, %kv_local_next, %kv_next : !logits, !infer.state<@kv_local>, !infer.state<@kv>
}
