"""A scripted editor for the language server."""
