func.func @f() -> f32 {
  %x = "foreign.value"() {kind = #foreign<a b>} : () -> f32
  func.return %x : f32
}
