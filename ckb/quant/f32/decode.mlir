infer.format @f32 {
^bb0(%w: vector<1xf32>):
  infer.decoded %w
}
