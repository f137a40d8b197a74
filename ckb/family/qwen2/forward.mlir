!x = tensor<?x${hidden}xf32, #infer.dims<tokens, _>>
!last = tensor<?x${hidden}xf32, #infer.dims<seqs, _>>
!logits = tensor<?x${vocab}xf32, #infer.dims<seqs, _>>

func.func @forward(%batch: !infer.batch, %kv: !infer.state<@kv>) -> (!logits, !infer.state<@kv>) attributes {dims = ${dims}} {
  %token_embd = infer.weight_ref ${token_embd}
  %x = infer.embed %batch, %token_embd : !x
  %y, %kv_next = infer.layers %x, %batch, %kv {schedule = ${schedule}} : !x, !infer.state<@kv>
  %last = infer.select_last %y, %batch : !last
  %output_norm = infer.weight_ref ${output_norm}
  %z = infer.rms_norm %last, %output_norm {eps = ${eps}} : !last
  %output = infer.weight_ref ${output}
  %logits = infer.linear %z, %output : !logits
  func.return %logits, %kv_next : !logits, !infer.state<@kv>
}
