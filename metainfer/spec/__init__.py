"""The `.mispec` language: grammar, words and units, and its translation into `spec` ops."""
