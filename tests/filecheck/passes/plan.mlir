// Choices are the spec's: without one there is nothing to decide.
// RUN: not metainfer-opt %s -p plan 2>&1 | filecheck %s

infer.weight @table {slot = "table", source = "table", type = tensor<64x32xf32>}
func.func @forward(%b: !infer.batch) -> tensor<?x32xf32, #infer.dims<tokens, _>> attributes {dims = #infer.ranges<tokens = 1 to 4>} {
  %w = infer.weight_ref @table : tensor<64x32xf32>
  %x = infer.embed %b, %w : tensor<?x32xf32, #infer.dims<tokens, _>>
  func.return %x : tensor<?x32xf32, #infer.dims<tokens, _>>
}

// CHECK: error: there is no spec.engine whose choices could be taken
