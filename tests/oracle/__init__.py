"""Recordings of what independent programs say about the same model file."""
