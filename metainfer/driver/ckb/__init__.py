"""What the `metainfer ckb` commands do."""
