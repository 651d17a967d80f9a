"""Sketches code in a short text, by which much alike code is found without keeping it."""

import io
import keyword
import tokenize
import zlib
from collections.abc import Iterable

__all__ = ["PART_CHARS", "fingerprint"]

TOKENS = 6
"""Tokens in a row that are looked at together."""
SKETCH, PART_CHARS = 64, 8
"""So many of these are kept, each as so many characters: the smallest sums, as good as drawn by lot."""
MAX_CHARS = 20_000
MIN_TOKENS = 40
"""Two that are shorter are alike anyhow."""

SPACING = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def words_of_code(source: str) -> list[str]:
    """Split code into its tokens, without names that are chosen freely, comments, docstrings and spacing."""
    words: list[str] = []
    before, begins = "", True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in SPACING:
                begins = begins or token.type != tokenize.COMMENT
                continue
            word = token.string.strip("rbufRBUF'\"") if token.type == tokenize.STRING else token.string
            if token.type == tokenize.NAME and before != "." and not keyword.iskeyword(word):
                word = "name"
            if not (begins and token.type == tokenize.STRING):
                words.append(word)
            before, begins = token.string, False
    except (tokenize.TokenError, SyntaxError):
        pass  # what came before it counts
    return words


def fingerprint(sources: Iterable[str]) -> str:
    """Sketch code, so that it can be compared; "" where there is too little of it."""
    words = words_of_code("\n".join(sources)[:MAX_CHARS])
    if len(words) < MIN_TOKENS:
        return ""
    parts = {" ".join(words[at : at + TOKENS]) for at in range(len(words) - TOKENS + 1)}
    return "".join(
        f"{number:08x}"
        for number in sorted(zlib.crc32(part.encode("utf-8", "replace")) for part in parts)[:SKETCH]
    )
