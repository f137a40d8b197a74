// Sub-block s of 32: (d * scale_s) * five bits - dmin * min_s.
infer.format @q5_k {
^bb0(%d: f16, %dmin: f16, %scales: vector<12xi8>, %qh: vector<32xi8>, %qs: vector<128xi8>):
  // Scales and minima of the 8 sub-blocks, 6 bits each: the first four of either in one byte, the
  // others split into a low nibble (bytes 8-11) and the two top bits of bytes 0-7.
  %six_bits = arith.constant dense<63> : vector<4xi8>
  %nibble = arith.constant dense<15> : vector<4xi8>
  %upper = arith.constant dense<48> : vector<4xi8>
  %two = arith.constant dense<2> : vector<4xi8>
  %four = arith.constant dense<4> : vector<4xi8>
  %first = infer.slice %scales {offset = 0 : i64} : vector<4xi8>
  %second = infer.slice %scales {offset = 4 : i64} : vector<4xi8>
  %third = infer.slice %scales {offset = 8 : i64} : vector<4xi8>
  %sc_low = arith.andi %first, %six_bits : vector<4xi8>
  %sc_nibble = arith.andi %third, %nibble : vector<4xi8>
  %sc_shifted = arith.shrui %first, %two : vector<4xi8>
  %sc_top = arith.andi %sc_shifted, %upper : vector<4xi8>
  %sc_high = arith.ori %sc_nibble, %sc_top : vector<4xi8>
  %sc = infer.concat %sc_low, %sc_high : vector<8xi8>
  %mn_low = arith.andi %second, %six_bits : vector<4xi8>
  %mn_nibble = arith.shrui %third, %four : vector<4xi8>
  %mn_shifted = arith.shrui %second, %two : vector<4xi8>
  %mn_top = arith.andi %mn_shifted, %upper : vector<4xi8>
  %mn_high = arith.ori %mn_nibble, %mn_top : vector<4xi8>
  %mn = infer.concat %mn_low, %mn_high : vector<8xi8>
  %sc_f = infer.cast %sc : vector<8xf32>
  %mn_f = infer.cast %mn : vector<8xf32>
  %d8 = infer.cast %d : vector<8xf32>
  %dmin8 = infer.cast %dmin : vector<8xf32>
  %scale8 = arith.mulf %sc_f, %d8 : vector<8xf32>
  %min8 = arith.mulf %mn_f, %dmin8 : vector<8xf32>
  %scale = infer.cast %scale8 : vector<8x32xf32>
  %min = infer.cast %min8 : vector<8x32xf32>
  // 32 bytes hold two sub-blocks: their low nibbles, then their high ones.
  %low_mask = arith.constant dense<15> : vector<128xi8>
  %four128 = arith.constant dense<4> : vector<128xi8>
  %low = arith.andi %qs, %low_mask : vector<128xi8>
  %high = arith.shrui %qs, %four128 : vector<128xi8>
  %low3 = infer.reshape %low : vector<4x1x32xi8>
  %high3 = infer.reshape %high : vector<4x1x32xi8>
  %pairs = infer.concat %low3, %high3 {axis = 1 : i64} : vector<4x2x32xi8>
  %nibbles = infer.reshape %pairs : vector<8x32xi8>
  // The fifth bits of sub-block s are bits s of the 32 bytes of qh.
  %plane = infer.reshape %qh : vector<1x32xi8>
  %planes = infer.concat %plane, %plane, %plane, %plane, %plane, %plane, %plane, %plane : vector<8x32xi8>
  %numbers = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi8>
  %number = infer.cast %numbers : vector<8x32xi8>
  %shifted = arith.shrui %planes, %number : vector<8x32xi8>
  %one = arith.constant dense<1> : vector<8x32xi8>
  %fifth = arith.andi %shifted, %one : vector<8x32xi8>
  %four8 = arith.constant dense<4> : vector<8x32xi8>
  %top = arith.shli %fifth, %four8 : vector<8x32xi8>
  %five_bits = arith.ori %nibbles, %top : vector<8x32xi8>
  %q = infer.cast %five_bits : vector<8x32xf32>
  %scaled = arith.mulf %q, %scale : vector<8x32xf32>
  %w = arith.subf %scaled, %min : vector<8x32xf32>
  %flat = infer.reshape %w : vector<256xf32>
  infer.decoded %flat
}
