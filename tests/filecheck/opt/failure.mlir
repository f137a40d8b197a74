// RUN: not metainfer-opt %S/Inputs/block.mlir --load-pass-plugin %S/Inputs/broken.py -p fuse,lose --crash-reproducer=%t.mlir --print-ir-after-failure --only=@up 2>&1 | filecheck %s --check-prefix FAIL
// RUN: filecheck %s --check-prefix HEADER --input-file %t.mlir
// RUN: not metainfer-opt --run-reproducer %t.mlir --load-pass-plugin %S/Inputs/broken.py 2>&1 | filecheck %s --check-prefix AGAIN
// RUN: not metainfer-opt %S/Inputs/block.mlir --load-pass-plugin %S/Inputs/broken.py -p fuse,lose,fuse --bisect-passes | filecheck %s --check-prefix BISECT
// RUN: metainfer-opt %S/Inputs/block.mlir --load-pass-plugin %S/Inputs/broken.py -p fuse,raise --reduce | filecheck %s --check-prefix REDUCE
// RUN: not metainfer-opt %S/Inputs/block.mlir -p fuse --reduce 2>&1 | filecheck %s --check-prefix SOUND

// FAIL:      wrote {{.*}}.mlir; to meet the failure again: metainfer-opt --run-reproducer {{.*}}.mlir
// FAIL:      // -----// IR Dump After lose Failed //----- //
// FAIL-NEXT: infer.weight @up
// FAIL:      {{.*}}block.mlir:6:11: error: a new infer.linear has no location
// FAIL:      note: the module was sound before pass lose

// HEADER:      {{RU}}N: metainfer-opt %s -p lose
// HEADER-NEXT: // pass lose failed: DiagnosticError: a new infer.linear has no location
// HEADER:      infer.group attributes

// AGAIN: {{.*}}block.mlir:6:11: error: a new infer.linear has no location

// BISECT:      pass 2 of 3 fails first: lose
// BISECT-NEXT: {{.*}}block.mlir:6:11: error: a new infer.linear has no location

// REDUCE:      {{RU}}N: metainfer-opt %s -p raise
// REDUCE-NEXT: // IndexError: no such thing
// REDUCE-NEXT: builtin.module
// REDUCE-NEXT: }

// SOUND: error: nothing to reduce: the passes run and all checks hold
