// Element j < 16 is the low nibble of byte j, element j + 16 its high nibble: d * (nibble - 8).
infer.format @q4_0 {
^bb0(%d: f16, %qs: vector<16xi8>):
  %low_mask = arith.constant dense<15> : vector<16xi8>
  %four = arith.constant dense<4> : vector<16xi8>
  %eight = arith.constant dense<8> : vector<32xi8>
  %low = arith.andi %qs, %low_mask : vector<16xi8>
  %high = arith.shrui %qs, %four : vector<16xi8>
  %nibbles = infer.concat %low, %high : vector<32xi8>
  %centred = arith.subi %nibbles, %eight : vector<32xi8>
  %q = infer.cast %centred {signed} : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %w = arith.mulf %q, %scale : vector<32xf32>
  infer.decoded %w
}
