// d * (five bits - 16).
infer.format @q5_0 {
^bb0(%d: f16, %qh: vector<4xi8>, %qs: vector<16xi8>):
  %low_mask = arith.constant dense<15> : vector<16xi8>
  %four = arith.constant dense<4> : vector<16xi8>
  %low = arith.andi %qs, %low_mask : vector<16xi8>
  %high = arith.shrui %qs, %four : vector<16xi8>
  %nibbles = infer.concat %low, %high : vector<32xi8>
  // The fifth bit of element j is bit j of the 32 in qh.
  %octet = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi8>
  %bit = infer.concat %octet, %octet, %octet, %octet : vector<32xi8>
  %bytes = infer.cast %qh : vector<4x8xi8>
  %spread = infer.reshape %bytes : vector<32xi8>
  %shifted = arith.shrui %spread, %bit : vector<32xi8>
  %one = arith.constant dense<1> : vector<32xi8>
  %fifth = arith.andi %shifted, %one : vector<32xi8>
  %four32 = arith.constant dense<4> : vector<32xi8>
  %top = arith.shli %fifth, %four32 : vector<32xi8>
  %five_bits = arith.ori %nibbles, %top : vector<32xi8>
  %sixteen = arith.constant dense<16> : vector<32xi8>
  %centred = arith.subi %five_bits, %sixteen : vector<32xi8>
  %q = infer.cast %centred {signed} : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %w = arith.mulf %q, %scale : vector<32xf32>
  infer.decoded %w
}
