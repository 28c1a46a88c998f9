"""What msgspec raises for bytes that are not JSON, or not the expected JSON. Pure.

For text that is not UTF-8 it is no DecodeError, and deep nesting is Python's own error. Code that
decodes untrusted bytes catches all three.
"""

from __future__ import annotations

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
