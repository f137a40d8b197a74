"""How good the kernel gate is: wrong bodies that it must refuse, correct ones that it must not."""
