"""The two command lines, `metainfer` and `metainfer-opt`."""
