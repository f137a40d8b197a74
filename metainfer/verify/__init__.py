"""Decides whether a body may be linked: runs it beside the reference, trusts nothing it says."""
