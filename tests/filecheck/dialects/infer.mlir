// RUN: metainfer-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What the ops and attributes of the dialect refuse, at the op that is wrong.

// expected-error @below {{infer.format: one block argument per field; got f16}}
infer.format @q attributes {block = 2, bytes = 2, contract = "c", fields = ["d", "m"], hash = "", type_id = 9} {
^bb0(%d: f16):
  %w = "test.op"() : () -> (vector<2xf32>)
  infer.decoded %w
}

// -----

// expected-error @below {{infer.format: fields take 2 bytes, the block has 4}}
infer.format @q attributes {block = 2, bytes = 4, contract = "c", fields = ["d"], hash = "", type_id = 9} {
^bb0(%d: f16):
  %w = "test.op"() : () -> (vector<2xf32>)
  infer.decoded %w
}

// -----

// expected-error @below {{infer.format: 4 values are decoded, the block has 2}}
infer.format @q attributes {block = 2, bytes = 2, contract = "c", fields = ["d"], hash = "", type_id = 9} {
^bb0(%d: f16):
  %w = "test.op"() : () -> (vector<4xf32>)
  infer.decoded %w
}

// -----

// expected-error @below {{infer.format: i4 is no storage type}}
infer.format @q attributes {block = 2, bytes = 2, contract = "c", fields = ["d"], hash = "", type_id = 9} {
^bb0(%d: vector<4xi4>):
  %w = "test.op"() : () -> (vector<2xf32>)
  infer.decoded %w
}

// -----

%d = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.cast: shape must be a prefix; got vector<4xi8>}}
%v = infer.cast %d : vector<8xf32>

// -----

%a = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.concat: axis 1 is no dimension of every vector}}
%v = infer.concat %a, %a {axis = 1 : i64} : vector<8xi8>

// -----

%a = "test.op"() : () -> (vector<1x4xi8>)
// expected-error @below {{infer.concat: vectors may differ along the axis only; got vector<2x8xi8>}}
%v = infer.concat %a, %a : vector<2x8xi8>

// -----

%a = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.concat: lengths must add up; got vector<9xi8>}}
%v = infer.concat %a, %a : vector<9xi8>

// -----

%x = "test.op"() : () -> (vector<4x4xi8>)
// expected-error @below {{infer.slice: only the first dimension is cut; got vector<2x3xi8>}}
%y = infer.slice %x {offset = 0 : i64} : vector<2x3xi8>

// -----

%x = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.slice: slice leaves the 4 elements of its input}}
%y = infer.slice %x {offset = 2 : i64} : vector<3xi8>

// -----

%x = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.reshape: the number of elements stays; got vector<4xi8>, vector<2x3xi8>}}
%y = infer.reshape %x : vector<2x3xi8>

// -----

%x = "test.op"() : () -> (vector<4xi8>)
// expected-error @below {{infer.lookup: one result per index; got vector<4xi8>, vector<8xf32>}}
%y = infer.lookup %x {table = dense<[-1.0, 1.0]> : vector<2xf32>} : vector<8xf32>

// -----

%a = "test.op"() : () -> (tensor<f32>)
// expected-error @below {{infer.add: a tensor has dimensions here; got tensor<f32>}}
%y = infer.add %a, %a : tensor<f32>

// -----

%a = "test.op"() : () -> (tensor<?x8xf32>)
// expected-error @below {{infer.add: tensor<?x8xf32>: a dynamic dimension needs a name in #infer.dims}}
%y = infer.add %a, %a : tensor<?x8xf32>

// -----

%a = "test.op"() : () -> (tensor<?x8xf32, #infer.dims<tokens>>)
// expected-error @below {{infer.add: tensor<?x8xf32, #infer.dims<tokens>>: 1 names for 2 dimensions}}
%y = infer.add %a, %a : tensor<?x8xf32, #infer.dims<tokens>>

// -----

%a = "test.op"() : () -> (tensor<4x8xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.add: tensor<4x8xf32, #infer.dims<tokens, _>>: exactly the dynamic dimensions carry names}}
%y = infer.add %a, %a : tensor<4x8xf32, #infer.dims<tokens, _>>

// -----

%b, %w = "test.op"() : () -> (!infer.batch, tensor<32xf32>)
// expected-error @below {{infer.embed: the table is a matrix; got tensor<32xf32>}}
%y = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%b, %w = "test.op"() : () -> (!infer.batch, tensor<9x16xf32>)
// expected-error @below {{infer.embed: result and table need one width; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<9x16xf32>}}
%y = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %w = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<32xf32>)
// expected-error @below {{infer.rms_norm: result has the type of the input; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x16xf32, #infer.dims<tokens, _>>}}
%y = infer.rms_norm %x, %w {eps = 1.0 : f64} : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %w = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<33xf32>)
// expected-error @below {{infer.rms_norm: weight's length divides the columns; got tensor<33xf32>, tensor<?x32xf32, #infer.dims<tokens, _>>}}
%y = infer.rms_norm %x, %w {eps = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %w = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<32xf32>)
// expected-error @below {{infer.linear: the weight is a matrix; got tensor<32xf32>}}
%y = infer.linear %x, %w : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %w, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<16x32xf32>, tensor<9xf32>)
// expected-error @below {{infer.linear: bias has one element per row of the weight; got tensor<9xf32>, tensor<16x32xf32>}}
%y = infer.linear %x, %w, %b : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %w = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<16x33xf32>)
// expected-error @below {{infer.linear: input and weight need one inner size; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<16x33xf32>}}
%y = infer.linear %x, %w : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %w = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<17x32xf32>)
// expected-error @below {{infer.linear: result is (x rows, w rows); got tensor<?x16xf32, #infer.dims<tokens, _>>}}
%y = infer.linear %x, %w : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.rope: result has the type of the input; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x16xf32, #infer.dims<tokens, _>>}}
%y = infer.rope %x, %b {head_dim = 16 : i64, pairing = "half", theta = 1.0 : f64} : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.rope: head_dim 12 must be even and divide the width 32}}
%y = infer.rope %x, %b {head_dim = 12 : i64, pairing = "half", theta = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.rope: pairing 'quarter' is none of ('interleaved', 'half')}}
%y = infer.rope %x, %b {head_dim = 16 : i64, pairing = "quarter", theta = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%s, %k, %v, %b = "test.op"() : () -> (!infer.state<@kv>, tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.state_append: result is the state that came in; got !infer.state<@kv>, !infer.state<@other>}}
%t = infer.state_append %s, %k, %v, %b : !infer.state<@other>

// -----

%s, %k, %v, %b = "test.op"() : () -> (!infer.state<@kv>, tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<seqs, _>>, !infer.batch)
// expected-error @below {{infer.state_append: k and v have the same tokens; got tensor<?x32xf32, #infer.dims<tokens, _>>}}
%t = infer.state_append %s, %k, %v, %b : !infer.state<@kv>

// -----

%q, %s, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>, !infer.batch)
// expected-error @below {{infer.attend: a window holds at least the token itself}}
%y = infer.attend %q, %s, %b {head_dim = 16 : i64, kv_heads = 1 : i64, mask = "causal", q_heads = 2 : i64, scale = 1.0 : f64, window = 0 : i64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%q, %s, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>, !infer.batch)
// expected-error @below {{infer.attend: 3 KV heads do not divide 2 query heads}}
%y = infer.attend %q, %s, %b {head_dim = 16 : i64, kv_heads = 3 : i64, mask = "causal", q_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%q, %s, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>, !infer.batch)
// expected-error @below {{infer.attend: mask 'tree' is none of ('causal',)}}
%y = infer.attend %q, %s, %b {head_dim = 16 : i64, kv_heads = 1 : i64, mask = "tree", q_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%q, %s, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>, !infer.batch)
// expected-error @below {{infer.attend: the query is q_heads x head_dim = 16 wide; got tensor<?x32xf32, #infer.dims<tokens, _>>}}
%y = infer.attend %q, %s, %b {head_dim = 8 : i64, kv_heads = 1 : i64, mask = "causal", q_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%q, %s, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>, !infer.batch)
// expected-error @below {{infer.attend: result has the type of the query; got tensor<?x32xf32, #infer.dims<seqs, _>>}}
%y = infer.attend %q, %s, %b {head_dim = 16 : i64, kv_heads = 1 : i64, mask = "causal", q_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x32xf32, #infer.dims<seqs, _>>

// -----

%a, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<seqs, _>>)
// expected-error @below {{infer.add: operands and result have one type; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<seqs, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>}}
%y = infer.add %a, %b : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%a = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.gated_act: operands and result have one type; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<seqs, _>>}}
%y = infer.gated_act %a, %a {act = "silu"} : tensor<?x32xf32, #infer.dims<seqs, _>>

// -----

%a = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.gated_act: act 'sine' is none of ('silu', 'gelu_tanh')}}
%y = infer.gated_act %a, %a {act = "sine"} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.scale: result has the type of the input; got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x16xf32, #infer.dims<tokens, _>>}}
%y = infer.scale %x {factor = 2.0 : f64} : tensor<?x16xf32, #infer.dims<tokens, _>>

// -----

%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.select_last: result is (seqs, columns of x); got tensor<?x32xf32, #infer.dims<tokens, _>>, tensor<?x32xf32, #infer.dims<tokens, _>>}}
%y = infer.select_last %x, %b : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %b, %s = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch, !infer.state<@kv>)
// expected-error @below {{infer.layers: each state has its successor; got !infer.state<@kv>, !infer.state<@other>}}
%y, %t = infer.layers %x, %b, %s {schedule = #infer.schedule<@layer 0 to 1>} : tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@other>

// -----

%x, %b, %s = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch, !infer.state<@kv>)
// expected-error @below {{infer.layers: x keeps its type; got tensor<?x32xf32, #infer.dims<seqs, _>>}}
%y, %t = infer.layers %x, %b, %s {schedule = #infer.schedule<@layer 0 to 1>} : tensor<?x32xf32, #infer.dims<seqs, _>>, !infer.state<@kv>

// -----

%x = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.group: a group ends with infer.yield}}
%y = infer.group attributes {rule = "r"} : tensor<?x32xf32, #infer.dims<tokens, _>> {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// -----

%x = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>)
// expected-error @below {{infer.group: the group yields its results; got tensor<?x32xf32, #infer.dims<tokens, _>>}}
%y = infer.group attributes {rule = "r"} : tensor<?x32xf32, #infer.dims<seqs, _>> {
  infer.yield %x
}

// -----

// expected-error @below {{'func.func': range of 't' is 5 to 4, want 1 <= a <= b}}
func.func private @f() attributes {dims = #infer.ranges<t = 5 to 4>}

// -----

// expected-error @below {{'func.func': each dimension needs one range}}
func.func private @f() attributes {dims = #infer.ranges<t = 1 to 4, t = 1 to 8>}

// -----

// expected-error @below {{'infer.state': runs of layers must ascend without overlap}}
infer.state @kv {k = tensor<2x8xf32>, layers = #infer.layers<4 to 6, 0 to 1>, v = tensor<2x8xf32>}

// -----

%x, %b, %s = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch, !infer.state<@kv>)
// expected-error @below {{'infer.layers': @layer runs layers 4 to 1, want a <= b}}
%y, %t = infer.layers %x, %b, %s {schedule = #infer.schedule<@layer 4 to 1>} : tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>

// -----

// expected-error @below {{value x is not defined here}}
%y = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
