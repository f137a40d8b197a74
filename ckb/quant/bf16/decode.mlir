infer.format @bf16 {
^bb0(%bits: vector<1xbf16>):
  %w = infer.cast %bits : vector<1xf32>
  infer.decoded %w
}
