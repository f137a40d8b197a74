// RUN: metainfer-opt --list-pipelines | filecheck %s --check-prefix LIST
// RUN: metainfer-opt %S/../stages/Inputs/tiny.mispec -p reference --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix DUMP
// RUN: not metainfer-opt %S/Inputs/block.mlir -p 'default{to=fuse}' 2>&1 | filecheck %s --check-prefix OPTION
// RUN: not metainfer-opt %S/Inputs/block.mlir --pass-pipeline 'builtin.module(fuse,fuze)' 2>&1 | filecheck %s --check-prefix ANCHOR
// RUN: not metainfer-opt --help-pass fuze 2>&1 | filecheck %s --check-prefix HELP
// RUN: metainfer-opt --load-pass-plugin %S/Inputs/broken.py --help-pass lose | filecheck %s --check-prefix PLUGIN
// RUN: metainfer-opt --show-dialects | filecheck %s --check-prefix DIALECTS

// LIST:      default
// LIST-NEXT:   resolve-model,expand-model,{{.*}},plan-memory
// LIST-NEXT: reference
// LIST-NEXT:   resolve-model,expand-model

// DUMP:      Pass pipeline:
// DUMP-NEXT:   resolve-model,expand-model

// OPTION:      <passes>:1:9: error: pipeline 'default' has no options
// OPTION-NEXT:    1 | default{to=fuse}
// OPTION-NEXT:      |         ^^
// OPTION-NEXT: help: write its passes out: resolve-model,

// ANCHOR:      <passes>:1:21: error: unknown pass 'fuze'
// ANCHOR-NEXT:    1 | builtin.module(fuse,fuze)
// ANCHOR-NEXT:      |                     ^^^^
// ANCHOR-NEXT: help: did you mean 'fuse'?

// HELP:      error: unknown pass 'fuze'
// HELP-NEXT: help: did you mean 'fuse'?

// PLUGIN:      lose: Rebuilds products without their locations.
// PLUGIN:        kinds: int (default 1)
// PLUGIN-NEXT:       How many kinds of op are rebuilt.

// DIALECTS: Available Dialects: arith, builtin, engine, func, infer, kernel, plan, spec
