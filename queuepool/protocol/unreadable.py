"""What msgspec raises for bytes that are no JSON, or not the JSON that was expected. Pure.

A text that is not UTF-8 is no DecodeError for msgspec, and deep nesting is Python's own error.
Whoever decodes what others wrote catches all three.
"""

from __future__ import annotations

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
