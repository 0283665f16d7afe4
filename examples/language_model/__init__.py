"""A decoder of the Llama, Mistral, Qwen and Gemma families, which `chat.py` runs."""
