// RUN: not metainfer-opt %s 2>&1 | filecheck %s --check-prefix OP
// RUN: not metainfer-opt %s -p 'resolve-modle' 2>&1 | filecheck %s --check-prefix PASS
// RUN: not metainfer-opt %s -p 'plan, fuse' 2>&1 | filecheck %s --check-prefix SYNTAX

func.funk @f()

// OP:           {{.*}}errors.mlir:5:1: error: unknown operation 'func.funk'
// OP-NEXT:         5 | func.funk @f()
// OP-NEXT:           | ^^^^^^^^^
// OP-NEXT:      help: did you mean 'func.func'?

// PASS:         <passes>:1:1: error: unknown pass 'resolve-modle'
// PASS-NEXT:       1 | resolve-modle
// PASS-NEXT:         | ^^^^^^^^^^^^^
// PASS-NEXT:    help: did you mean 'resolve-model'?

// SYNTAX:       <passes>:1:6: error: Expected pass name here
// SYNTAX-NEXT:     1 | plan, fuse
// SYNTAX-NEXT:       |      ^
