// RUN: metainfer-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What is wrong between ops: names, uses, dimensions, states, schedules.

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
// expected-error @below {{@p is defined twice}}
infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}

// -----

// expected-error @below {{infer.weight_ref: no symbol @w}}
%w = infer.weight_ref @w : tensor<32x32xf32>

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
// expected-error @below {{infer.weight_ref: @p is infer.path}}
%w = infer.weight_ref @p : tensor<32x32xf32>

// -----

infer.weight @w {slot = "w", source = "w", type = tensor<32x32xf32>}
// expected-error @below {{@w is tensor<32x32xf32>, not tensor<8x8xf32>}}
%w = infer.weight_ref @w : tensor<8x8xf32>

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
kernel.func @id(%x: tensor<32x32xf32>) -> (y: tensor<32x32xf32>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "none", path = @p} {
  kernel.return %x
}
%x = "test.op"() : () -> (tensor<32x32xf32>)
// expected-error @below {{call and signature of @id differ}}
%y, %z = kernel.call @id, %x : tensor<32x32xf32>, tensor<32x32xf32>

// -----

infer.state @kv {k = tensor<2x8xf32>, layers = #infer.layers<0 to 3>, v = tensor<2x8xf32>}
func.func @f(%k: tensor<?x32xf32, #infer.dims<tokens, _>>, %b: !infer.batch, %s: !infer.state<@kv>) -> (!infer.state<@kv>, !infer.state<@kv>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
// expected-error @below {{state is taken over 2 times; a state value has one successor}}
  %t = infer.state_append %s, %k, %k, %b : !infer.state<@kv> %u = infer.state_append %s, %k, %k, %b : !infer.state<@kv>
  func.return %t, %u : !infer.state<@kv>, !infer.state<@kv>
}

// -----

// expected-error @below {{func.func: dimension 'rows' has no range here}}
func.func @f(%x: tensor<?x8xf32, #infer.dims<rows, _>>) attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  func.return
}

// -----

func.func @layer(%x: tensor<?x32xf32, #infer.dims<tokens, _>>) {
  func.return
}
%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.layers: the schedule is not 0, 1, 2, ... in order}}
%y = infer.layers %x, %b {schedule = #infer.schedule<@layer 0 to 1, @layer 3 to 3>} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

%x, %b = "test.op"() : () -> (tensor<?x32xf32, #infer.dims<tokens, _>>, !infer.batch)
// expected-error @below {{infer.layers: no symbol @lawyer}}
%y = infer.layers %x, %b {schedule = #infer.schedule<@lawyer 0 to 1>} : tensor<?x32xf32, #infer.dims<tokens, _>>

// -----

// expected-error @below {{%u is used but never defined}}
%v = "arith.addi"(%u, %u) : (i32, i32) -> i32

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
kernel.func @id(%x: tensor<32x32xf32>) -> (y: tensor<32x32xf32>) {dims = #infer.ranges<tokens = 1 to 4>, parts = "none", path = @p} {
  kernel.return %x
}
engine.program @e attributes {package = "e", threads = 2 : i64} {
  engine.buffer @x {type = tensor<32x32xf32>}
// expected-error @below {{engine.call: no symbol @z}}
  engine.call @id {ins = [@z], outs = [@x]}
}

// -----

infer.path @p {accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}
engine.program @e attributes {package = "e", threads = 2 : i64} {
// expected-error @below {{engine.entry: @p is infer.path}}
  engine.entry @step attributes {dims = #infer.ranges<tokens = 1 to 4>, logits = @p} {
    engine.barrier
  }
}
