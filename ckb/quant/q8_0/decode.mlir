// d * signed byte.
infer.format @q8_0 {
^bb0(%d: f16, %qs: vector<32xi8>):
  %q = infer.cast %qs {signed} : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %w = arith.mulf %q, %scale : vector<32xf32>
  infer.decoded %w
}
