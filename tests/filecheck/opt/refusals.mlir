// What the tool refuses: flags, files, pipelines, plugins, checks.
// RUN: rm -rf %t && mkdir -p %t/folder.mlir %t/dumps && cp %S/Inputs/block.mlir %S/Inputs/wrong.py %t
// RUN: echo "" > %t/empty.mlir && echo "" > %t/empty.py && echo "text" > %t/dumps/notes.txt
// RUN: echo "// RUN: metainfer""-opt %%s -p 'fuse" > %t/open.mlir && echo "// RUN: metainfer""-opt %%s -p fuse -o x.mlir" > %t/writes.mlir
// RUN: %{python} -c "print('func.func @f() attributes {a = ' + '[' * 9000)" > %t/deep.mlir
// RUN: %refusals %s %t | filecheck %s

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{operands and result have another type}}
  %b = infer.add %a, %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// Values of flags

// $ metainfer-opt block.mlir --rewrite-limit=-1
// CHECK:      error: argument --rewrite-limit: '-1' is no number from 0 on
// $ metainfer-opt block.mlir --verify-each=2
// CHECK:      error: argument --verify-each: '2' is neither 0 nor 1
// $ metainfer-opt block.mlir --only block
// CHECK:      error: argument --only: 'block' is no symbol: write @block
// $ metainfer-opt block.mlir --only @blok
// CHECK:      error: --only @blok: no such symbol
// CHECK-NEXT: help: did you mean 'block'?

// Files

// $ metainfer-opt blok.mlir
// CHECK:      error: cannot read blok.mlir: no such file
// CHECK-NEXT: help: did you mean 'block.mlir'?
// $ metainfer-opt folder.mlir
// CHECK:      error: cannot read folder.mlir: is a directory
// $ metainfer-opt wrong.py
// CHECK:      error: wrong.py: expected a .mispec or .mlir file
// $ metainfer-opt empty.mlir
// CHECK:      empty.mlir:1:1: error: the input is empty
// $ metainfer-opt deep.mlir
// CHECK:      error: deep.mlir: regions or attributes are nested too deeply
// $ metainfer-opt block.mlir -o folder.mlir
// CHECK:      error: cannot write folder.mlir: Is a directory
// $ metainfer-opt block.mlir --run @block --arg random --dim tokens=1 -o folder.mlir
// CHECK:      error: cannot write folder.mlir: Is a directory
// $ metainfer-opt %s -p spin --load-pass-plugin wrong.py --crash-reproducer=folder.mlir
// CHECK:      error: cannot write folder.mlir: Is a directory
// $ metainfer-opt block.mlir --print-ir-tree-dir block.mlir
// CHECK:      error: cannot write dumps to block.mlir: it is a file
// $ metainfer-opt block.mlir --print-ir-tree-dir dumps
// CHECK:      error: cannot write dumps to dumps: it holds notes.txt, which is no dump
// CHECK-NEXT: help: name a folder that is new or holds dumps only

// Reproducers

// $ metainfer-opt --run-reproducer block.mlir
// CHECK:      block.mlir:1:1: error: block.mlir is no reproducer
// $ metainfer-opt --run-reproducer open.mlir
// CHECK:      open.mlir:1:1: error: cannot read this command: No closing quotation
// $ metainfer-opt --run-reproducer writes.mlir
// CHECK:      writes.mlir:1:1: error: a reproducer may not use -o

// Pipelines and plugins

// $ metainfer-opt block.mlir -p 'schedule{thread=2}'
// CHECK:      <passes>:1:10: error: pass 'schedule' has no option 'thread'
// CHECK:      help: did you mean 'threads'?
// $ metainfer-opt block.mlir -p 'schedule{threads=2 threads=3}'
// CHECK:      <passes>:1:20: error: option 'threads' is given twice
// CHECK:      note: 1:10: first given here
// $ metainfer-opt block.mlir -p choosy --load-pass-plugin wrong.py
// CHECK:      <passes>:1:1: error: pass 'choosy' needs the option 'amount'
// $ metainfer-opt block.mlir -p 'choosy{amount=10}' --load-pass-plugin wrong.py
// CHECK:      <passes>:1:1: error: pass 'choosy': more than nine
// $ metainfer-opt block.mlir --load-pass-plugin none.py
// CHECK:      error: --load-pass-plugin none.py: no such file
// $ metainfer-opt block.mlir --load-pass-plugin open.mlir -p fuse
// CHECK:      error: --load-pass-plugin open.mlir: no Python file
// $ metainfer-opt block.mlir --load-pass-plugin empty.py -p fuse
// CHECK:      error: --load-pass-plugin empty.py: it lists no passes
// $ metainfer-opt %s -p spin --load-pass-plugin wrong.py
// CHECK:      refusals.mlir:10:8: error: pass spin: endless rewriting by 'swap'
// CHECK:      note: 10:8: rewritten by 'swap'

// Checks

// $ metainfer-opt %s --verify-diagnostics
// CHECK:      refusals.mlir:9:6: error: expected error "operands and result have another type" was not produced
// $ metainfer-opt empty.mlir --verify-diagnostics
// CHECK:      empty.mlir:1:1: error: unexpected error: the input is empty
// $ metainfer-opt block.mlir -p shadow --load-pass-plugin wrong.py --verify-roundtrip
// CHECK:      block.mlir:8:8: error: the custom form of infer.gated_act parses back with another attribute 'act'
// CHECK:      note: the module was sound before pass shadow
// $ metainfer-opt block.mlir -p foreign --load-pass-plugin wrong.py --verify-roundtrip
// CHECK:      error: the custom form of the module does not parse: unknown operation 'foreign.op'
// CHECK:      note: in: "foreign.op"() : () -> ()
// $ metainfer-opt block.mlir --bisect-passes --check-command false
// CHECK:      error: the check's command ended with status 1
// $ metainfer-opt block.mlir --reduce --check-command 'none-such %%s'
// CHECK:      error: cannot run the check's command 'none-such %s'
// $ metainfer-opt block.mlir -p foreign,refuse --reduce --load-pass-plugin wrong.py
// CHECK:      error: the reduced module fails only as long as it is not printed and parsed
