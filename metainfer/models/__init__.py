"""What the weights bring with them: GGUF files, their sources, tokenizers and chat templates."""
