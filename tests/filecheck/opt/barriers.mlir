// RUN: not metainfer-opt %S/Inputs/block.mlir --barriers 2>&1 | filecheck %s
// RUN: metainfer-opt %S/../../../docs/examples/program.mlir --barriers | filecheck %s --check-prefix TABLE
// RUN: not metainfer-opt %S/../../../docs/examples/racing.mlir 2>&1 | filecheck %s --check-prefix RACE

// CHECK:      error: the module has no program
// CHECK-NEXT: help: run schedule first

// TABLE:      barrier  before   needed  without it
// TABLE-NEXT: @step 1  @linear  yes     part 0 of @norm writes and part 1 of @linear reads @h (2 parts)

// RACE:       error: no barrier parts two calls: part 0 of @norm writes and part 1 of @linear reads @h (2 parts)
// RACE:       note: {{.*}}the other call is here
