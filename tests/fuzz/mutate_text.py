"""Changes of StableHLO text, token by token, and of bytes."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(
    r'tensor<[^<>]*>|"[^"\n]*"|@\w+|%\w+(?:[:\#]\d+)?|-?\d+\.\d+(?:[eE][+-]?\d+)?|-?\d+'
    r"|[A-Za-z_][\w.]*|\s+|."
)
_KINDS = ("tensor<", '"', "@", "%")
_INTEGERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "64",
    "1000000",
    "2147483648",
    "4611686018427387904",
    "-9223372036854775808",
)
_TYPES = (
    "f32",
    "f64",
    "f16",
    "bf16",
    "i1",
    "i8",
    "i32",
    "i64",
    "ui8",
    "ui32",
    "ui64",
    "i4",
    "ui2",
    "f8E4M3FN",
    "f4E2M1FN",
    "complex<f32>",
    "index",
    "!stablehlo.token",
    "tuple<tensor<4xf32>>",
    "4x?xf32",
    "?xf32",
    "0xf32",
    "4xf32",
    "4x6xf32",
    "4x6xi32",
    "4x6xcomplex<f64>",
    "1048576x1048576x1048576xf32",
    "4x6x!quant.uniform<i8:f32, 0.1>",
)


def _kind(token: str) -> str:
    for start in _KINDS:
        if token.startswith(start):
            return start
    if re.fullmatch(r"-?\d+", token):
        return "integer"
    if re.fullmatch(r"[A-Za-z_][\w.]*", token):
        return "operation" if token.startswith(("stablehlo.", "chlo.")) else "word"
    return "other"


def mutate_text(text: str, generator: random.Random, words: list[str]) -> str:
    """Returns `text` with one token or line changed.

    Parameters
    ----------
    text : str
        A module.
    generator : random.Random
        Decides everything.
    words : list of str
        Tokens of other modules, to be put in place of one of the same kind.
    """
    if generator.random() < 0.15:
        return _change_line(text, generator)
    tokens = _TOKEN.findall(text)
    places = [
        i for i, token in enumerate(tokens) if not token.isspace() and _kind(token) != "other"
    ]
    if not places:
        return text
    place = generator.choice(places)
    kind = _kind(tokens[place])
    same = [token for token in tokens if _kind(token) == kind]
    strange = [word for word in words if _kind(word) == kind]
    choices = [generator.choice(same)]
    if strange:
        choices.append(generator.choice(strange))
    if kind == "integer":
        choices += [
            generator.choice(_INTEGERS),
            str(int(tokens[place]) + generator.choice((-1, 1))),
        ]
    if kind == "tensor<":
        choices += [_change_tensor(tokens[place], generator), f"tensor<{generator.choice(_TYPES)}>"]
        # The same type everywhere: what one operation is told by another stays consistent.
        if generator.random() < 0.5:
            return text.replace(tokens[place], generator.choice(choices))
    tokens[place] = generator.choice(choices)
    return "".join(tokens)


def words_of(texts: list[str]) -> list[str]:
    """Returns the tokens that stand anywhere in `texts`, each once."""
    return sorted(
        {token for text in texts for token in _TOKEN.findall(text) if _kind(token) != "other"}
    )


def mutate_bytes(data: bytes, generator: random.Random) -> bytes:
    """Returns `data` with some bytes flipped, taken out, or copied elsewhere."""
    changed = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 4, 8))):
        if not changed:
            break
        place = generator.randrange(len(changed))
        action = generator.random()
        if action < 0.5:
            changed[place] ^= 1 << generator.randrange(8)
        elif action < 0.7:
            changed[place] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        elif action < 0.85:
            del changed[place : place + generator.randrange(1, 9)]
        else:
            start = generator.randrange(len(changed))
            changed[place:place] = changed[start : start + generator.randrange(1, 17)]
    return bytes(changed)


def _change_tensor(token: str, generator: random.Random) -> str:
    parts = token[len("tensor<") : -1].split("x")
    place = generator.randrange(len(parts))
    if place == len(parts) - 1:
        parts[place] = generator.choice(_TYPES[:16])
    else:
        action = generator.randrange(4)
        if action == 0:
            del parts[place]
        elif action == 1:
            parts.insert(place, parts[place])
        else:
            parts[place] = generator.choice((*_INTEGERS, "?", "5"))
    return "tensor<" + "x".join(parts) + ">"


def _change_line(text: str, generator: random.Random) -> str:
    lines = text.split("\n")
    place = generator.randrange(len(lines))
    action = generator.randrange(3)
    if action == 0:
        del lines[place]
    elif action == 1:
        lines.insert(generator.randrange(len(lines)), lines[place])
    else:
        other = generator.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    return "\n".join(lines)
