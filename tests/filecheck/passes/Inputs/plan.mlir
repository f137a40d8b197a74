// The least that `plan` can decide about.
spec.engine @x {
  spec.model "file:x.gguf"
  spec.demand context "<=" 64 tokens
}
infer.weight @w {slot = "w", source = "w", type = tensor<32xf32>}
