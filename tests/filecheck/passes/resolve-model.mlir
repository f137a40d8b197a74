// RUN: metainfer-opt %s -p resolve-model --split-input-file --verify-diagnostics

// IR that no .mispec file becomes.

func.func @alone() {
  // expected-error @unknown {{expected one 'spec.engine' in the module, found 0}}
  func.return
}

// -----

spec.engine @x {
  spec.model "file:../stages/Inputs/tiny.gguf"
  spec.demand context "<=" 64 tokens
  // expected-error @below {{unknown dtype 'q4'}}
  spec.pin kv "==" q4
  spec.require kv "<=" 1 MiB
}

// -----

spec.engine @x {
  spec.model "file:../stages/Inputs/tiny.gguf"
  spec.demand context "<=" 64 tokens
  // expected-error @below {{tensor takes a number from 1 on, not 'both'}}
  spec.pin tensor "==" both
}

// -----

spec.engine @x {
  spec.model "file:../stages/Inputs/tiny.gguf"
  spec.demand context "<=" 64 tokens
  // expected-error @below {{a bound on threads is not supported yet}}
  spec.pin threads "<=" "2"
}

// -----

// expected-error @below {{engine 'x' needs a model}}
spec.engine @x {
  spec.demand context "<=" 64 tokens
}
