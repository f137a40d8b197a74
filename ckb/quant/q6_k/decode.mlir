// 16 elements share a signed scale: d * scale * (six bits - 32).
infer.format @q6_k {
^bb0(%ql: vector<128xi8>, %qh: vector<64xi8>, %scales: vector<16xi8>, %d: f16):
  // Each half of 128 elements: the low nibbles of 64 bytes of ql, then their high ones.
  %low_mask = arith.constant dense<15> : vector<128xi8>
  %four128 = arith.constant dense<4> : vector<128xi8>
  %low = arith.andi %ql, %low_mask : vector<128xi8>
  %high = arith.shrui %ql, %four128 : vector<128xi8>
  %low3 = infer.reshape %low : vector<2x1x64xi8>
  %high3 = infer.reshape %high : vector<2x1x64xi8>
  %halves = infer.concat %low3, %high3 {axis = 1 : i64} : vector<2x2x64xi8>
  %nibbles = infer.reshape %halves : vector<2x4x32xi8>
  // Bits 5 and 6 of the four runs of 32 in a half: bit pairs 0 to 3 of 32 bytes of qh.
  %half = infer.reshape %qh : vector<2x1x32xi8>
  %runs = infer.concat %half, %half, %half, %half {axis = 1 : i64} : vector<2x4x32xi8>
  %pair_of_run = arith.constant dense<[[0, 2, 4, 6], [0, 2, 4, 6]]> : vector<2x4xi8>
  %pair = infer.cast %pair_of_run : vector<2x4x32xi8>
  %shifted = arith.shrui %runs, %pair : vector<2x4x32xi8>
  %three = arith.constant dense<3> : vector<2x4x32xi8>
  %bits = arith.andi %shifted, %three : vector<2x4x32xi8>
  %four3 = arith.constant dense<4> : vector<2x4x32xi8>
  %top = arith.shli %bits, %four3 : vector<2x4x32xi8>
  %six_bits = arith.ori %nibbles, %top : vector<2x4x32xi8>
  %offset = arith.constant dense<32> : vector<2x4x32xi8>
  %centred = arith.subi %six_bits, %offset : vector<2x4x32xi8>
  %flat = infer.reshape %centred : vector<256xi8>
  %q = infer.cast %flat {signed} : vector<256xf32>
  %sc = infer.cast %scales {signed} : vector<16xf32>
  %d16 = infer.cast %d : vector<16xf32>
  %scale16 = arith.mulf %sc, %d16 : vector<16xf32>
  %scale2 = infer.cast %scale16 : vector<16x16xf32>
  %scale = infer.reshape %scale2 : vector<256xf32>
  %w = arith.mulf %q, %scale : vector<256xf32>
  infer.decoded %w
}
