// RUN: metainfer-opt %s -p schedule --split-input-file --verify-diagnostics

// Functions that no program can be made of.

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
kernel.func @embed(%b: !infer.batch, %w: tensor<64x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p} {
  %0 = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
func.func @forward(%b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = kernel.call @embed, %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  // expected-error @below {{infer.add is no kernel call}}
  %y = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  %z = kernel.call @double, %y : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %z : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
kernel.func @embed(%b: !infer.batch, %w: tensor<64x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p} {
  %0 = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
// expected-error @below {{@layer does not end in the buffer that it started from}}
func.func @layer(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %y = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  %z = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}
func.func @forward(%b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = kernel.call @embed, %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  %x0 = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  %y = infer.layers %x0, %b {schedule = #infer.schedule<@layer 0 to 1>} : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
infer.state @kv {context = 16 : i64, k = tensor<2x16xf32>, layers = #infer.layers<0 to 0>, room = 16 : i64, v = tensor<2x16xf32>}
infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
kernel.func @embed(%b: !infer.batch, %w: tensor<64x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p} {
  %0 = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
kernel.func @append(%s: !infer.state<@kv>, %k: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: !infer.batch) -> (t: !infer.state<@kv>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.state_append %s, %k, %k, %b : !infer.state<@kv>
  kernel.return %0
} body [""]
kernel.func @attend(%q: tensor<?x32xf32, #infer.dims<tokens, _>>, %s: !infer.state<@kv>, %b: !infer.batch) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "heads", path = @p} {
  %0 = infer.attend %q, %s, %b {head_dim = 16 : i64, kv_heads = 2 : i64, mask = "causal", q_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
func.func @forward(%b: !infer.batch, %s: !infer.state<@kv>) -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = kernel.call @embed, %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  %k = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  %t = kernel.call @append, %s, %k, %b : !infer.state<@kv>
  // expected-error @below {{kernel.call reads a state after it was updated in place}}
  %y = kernel.call @attend, %k, %s, %b : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y, %t : tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.state<@kv>
}

// -----

plan.decision @d {alternatives = ["many"], by = "user", right = "pinned", site = "model", value = "many", what = "threads"}
// expected-error @unknown {{threads is 'many', want a number from 1 to 64}}
infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
kernel.func @embed(%b: !infer.batch, %w: tensor<64x32xf32>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p} {
  %0 = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body [""]
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
func.func @forward(%b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = kernel.call @embed, %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  %y = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
kernel.func @double(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p} {
  %0 = infer.add %x, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
} body ["y = x + x;"]
// expected-error @below {{@forward takes a batch and states only, not tensor<?x32xf32, #infer.dims<tokens, _>>}}
func.func @forward(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %y = kernel.call @double, %x : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %y : tensor<?x32xf32, #infer.dims<tokens, _>>
}
