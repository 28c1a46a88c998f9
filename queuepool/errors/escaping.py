r"""Escaping of untrusted text for terminals, logs and arguments. Pure.

    what            shown               read back
    any text        visible(), block()  never: for people
    a job id        id_text()           id_bytes(), exactly
    a partition key key_text()          key_bytes_of(), exactly

Visible means: nothing in the text moves the cursor, changes colours, rings the bell, hides text,
reverses its direction or begins a line. Controls (C0, DEL, C1), formats (bidirectional marks,
zero-width characters), line and paragraph separators, lone surrogates and characters unknown to
this Python are written as Python escapes: `\x1b`, `\n`, `\u202e`. Blanks of other widths stay.

An id or a key can be any bytes. Each invisible byte in it (including blanks at either end) becomes
`\xHH`, two lower-case hexadecimal digits, as does a backslash that would otherwise be read as the
start of such an escape (`\x5c`).
"""

from __future__ import annotations

import re
import shlex
import unicodedata

_ESCAPE = re.compile(r"\\x[0-9a-fA-F]{2}")
_OF_A_BATCH = rb"[A-Za-z0-9_.]{16}(?:-[a-z0-9_-]{1,32})?~[0-9]{1,8}"
_ID = re.compile(rb"[A-Za-z0-9_.:-]*|" + _OF_A_BATCH)
_NOT_OF_AN_ID = re.compile(rb"[^A-Za-z0-9_.:-]")
_RAW_BYTES = range(0xDC80, 0xDD00)  # how Python holds bytes of arguments and file names, not UTF-8
_TAB = 4
_LONGEST_SHOWN = 100


def visible(text: str) -> str:
    r"""Return text on one line, with only visible characters; see above.

    >>> visible("done\r\x1b[31mfailed")
    'done\\r\\x1b[31mfailed'
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def block(text: str, indent: str = "    ") -> str:
    r"""Return text of several lines, such as a traceback, made visible and indented.

    Only \n and \r\n begin a line; tabs become spaces. No line can be mistaken for our own output.
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return "\n".join(f"{indent}{visible(line.expandtabs(_TAB))}".rstrip() for line in lines)


def stored_text(raw: bytes) -> str:
    r"""Return a stored text that should be UTF-8; a byte that is not becomes \xHH. Never fails."""
    return raw.decode("utf-8", "backslashreplace")


def id_text(raw: bytes) -> str:
    r"""Return a job id: unchanged if it is valid, else with \xHH escapes.

    Only letters, digits and _ . : - stay, and the ~ in ids of jobs of batches, so that it remains
    one word wherever it is pasted.
    """
    if _ID.fullmatch(raw):
        return raw.decode()
    return _NOT_OF_AN_ID.sub(lambda found: b"\\x%02x" % found[0][0], raw).decode()


def typed(text: str) -> str:
    r"""Return an id or a key, as one of these texts, the way it is typed in a shell.

    A first dash is written as \x2d, since it would begin an option.
    """
    return shlex.quote(f"\\x2d{text[1:]}" if text.startswith("-") else text)


def id_bytes(text: str) -> bytes:
    """Return the bytes of an id that `id_text` wrote. Other text is taken literally."""
    return _read(text)


def key_text(raw: bytes) -> str:
    r"""Return a partition key or a group: unchanged if it is visible, else with \xHH escapes."""
    text = raw.decode("utf-8", "surrogateescape")
    if text == text.strip() and _is_visible(text) and not _ESCAPE.search(text):
        return text
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    return "".join(
        c
        if c != "\\" and first <= n < last and _is_visible(c)
        else _as_bytes(c.encode("utf-8", "surrogateescape"))
        for n, c in enumerate(text)
    )


def key_bytes_of(text: str) -> bytes:
    r"""Return the bytes of a key that `key_text` wrote. Text without \xHH is taken literally."""
    return _read(text)


def _read(text: str) -> bytes:
    raw = _encoded(text)
    if not _ESCAPE.search(text):
        return raw
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes.fromhex(found[1].decode()), raw)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # what was typed, whatever its encoding
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _as_bytes(raw: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in raw)


def _is_visible(text: str) -> bool:
    return text.isprintable() or all(c.isprintable() or _is_blank(c) for c in text)


def _is_blank(char: str) -> bool:
    return unicodedata.category(char) == "Zs"


def _shown(char: str) -> str:
    if char.isprintable() or _is_blank(char):
        return char
    if ord(char) in _RAW_BYTES:
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()


def shown(value: object) -> str:
    """Return a value for the text of an error: at most 100 characters, and never an exception."""
    try:
        # Cut first: the whole may be megabytes of text.
        text = repr(value[:_LONGEST_SHOWN] if isinstance(value, (str, bytes)) else value)
    except Exception:  # an object without a repr, a number of more than 4,300 digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
