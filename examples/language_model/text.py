"""Text to tokens and back."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Protocol


class Tokenizer(Protocol):
    """Text to tokens and back."""

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text."""

    def decode(self, tokens: list[int]) -> str:
        """Returns the text of tokens."""


class Bytes:
    """The bytes of UTF-8, for models with random weights."""

    def encode(self, text: str) -> list[int]:
        """Returns the bytes of a text."""
        return [*text.encode()]

    def decode(self, tokens: list[int]) -> str:
        """Returns the text; tokens beyond 255 stand for the byte of their remainder."""
        return bytes(token % 256 for token in tokens).decode(errors="replace")


class FileTokenizer:
    """The tokenizer in a folder's `tokenizer.json`, with the package `tokenizers`."""

    def __init__(self, folder: pathlib.Path) -> None:
        try:
            import tokenizers
        except ImportError as error:
            raise ImportError(
                "reading tokenizer.json needs the package tokenizers: pip install tokenizers"
            ) from error
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text, with those that the tokenizer puts around it."""
        return self._tokenizer.encode(text).ids

    def decode(self, tokens: list[int]) -> str:
        """Returns the text of tokens, without special ones."""
        return self._tokenizer.decode(tokens)


def chat_prompt(folder: pathlib.Path, messages: list[dict[str, str]]) -> str | None:
    """Returns the text for a conversation by the chat template of a folder, None if it has none.

    Raises
    ------
    ImportError
        If there is a template, and the package jinja2 is missing.
    """
    path = folder / "tokenizer_config.json"
    fields: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    template = fields.get("chat_template")
    if not isinstance(template, str):
        return None
    try:
        import jinja2.sandbox
    except ImportError as error:
        raise ImportError("chat templates need the package jinja2: pip install jinja2") from error
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    special = {
        name: value["content"] if isinstance(value, dict) else value
        for name, value in fields.items()
        if name.endswith("_token") and value is not None
    }
    return environment.from_string(template).render(
        messages=messages, add_generation_prompt=True, **special
    )


class Stream:
    """Decodes an answer piece by piece, and withholds incomplete characters."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._printed = 0

    def push(self, token: int) -> str:
        """Returns the text that the token completes."""
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if text.endswith("\ufffd"):
            return ""
        new, self._printed = text[self._printed :], len(text)
        return new
