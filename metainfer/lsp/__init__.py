"""A language server for `.mispec` files; start it with `python -m metainfer.lsp` (extra `lsp`)."""
