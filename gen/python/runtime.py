from __future__ import annotations

import random as _random
import re as _re
import typing as _t


class KeyValueError(ValueError):
    """A value that cannot stand in a key. It never holds the value."""

    def __init__(self, key: str, placeholder: str, reason: str) -> None:
        super().__init__(f"the value for {{{placeholder}}} of {key} {reason}")
        self.key = key
        self.placeholder = placeholder
        self.reason = reason


class Ttl:
    """What is declared of the life of a key: policy "expires", "none" or "any"."""

    def __init__(self, policy: str, text: str) -> None:
        self.policy = policy
        self.text = text

    def px(self) -> None:
        """No TTL: redis.set(key, value, px=ttl.px()) writes without one."""
        return None


class TtlExpires:
    """Must expire. The bounds are what a writer may ask for, before the jitter."""

    policy = "expires"

    def __init__(self, text: str, default_ms: int, min_ms: int, max_ms: int, jitter: float, sliding: bool) -> None:
        self.text = text  # as declared
        self.default_ms = default_ms
        self.min_ms = min_ms
        self.max_ms = max_ms
        self.jitter = jitter  # 0.1 widens what is written by 10 % on both sides
        self.sliding = sliding  # renewed on use

    def px(self, wanted_ms: _t.Optional[int] = None, rand: _t.Callable[[], float] = _random.random) -> int:
        """Milliseconds to write, with jitter: redis.set(key, value, px=ttl.px())."""
        wanted = self.default_ms if wanted_ms is None else wanted_ms
        if not self.min_ms <= wanted <= self.max_ms:
            raise ValueError(f"a TTL of {wanted} ms is not within {self.text}")
        return max(1, int(wanted * (1 + self.jitter * (2 * rand() - 1)))) if self.jitter else int(wanted)

    def ex(self, wanted_ms: _t.Optional[int] = None, rand: _t.Callable[[], float] = _random.random) -> int:
        """Whole seconds to write; for TTLs of a second and more."""
        if self.max_ms < 1000:
            raise ValueError(f"{self.text} is shorter than a second: write it in milliseconds, with px()")
        return max(1, self.px(wanted_ms, rand) // 1000)


class Placeholder:
    """One placeholder of a pattern: its name there, its argument here, its type."""

    def __init__(self, name: str, argument: str, type_: str) -> None:
        self.name = name
        self.argument = argument
        self.type = type_


class _Matcher:
    """Recognises the values of one placeholder."""

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        """The end of every value that begins at start."""
        raise NotImplementedError

    def encode(self, value: object) -> _t.Union[bytes, str]:
        """The bytes of a value; a str says what is wrong with it."""
        if not isinstance(value, str):
            return "is not a str"
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            return "has half a surrogate pair, which is no text"

    def decode(self, data: bytes) -> object:
        """The value of bytes; None if they are not text."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return None


class _Text(_Matcher):
    """Any bytes: at most limit of them if limit > 0, with separators and braces or not."""

    def __init__(self, limit: int, separators: bool, braces: bool) -> None:
        self.limit = limit
        refused = (b"" if separators else b":") + (b"" if braces else b"{}")
        self.run = _re.compile(b"[^" + refused + b"]+" if refused else b".+", _re.DOTALL)

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        found = self.run.match(data, start)
        if found:
            stop = min(found.end(), start + self.limit) if self.limit else found.end()
            yield from range(stop, start, -1)


class _Bytes(_Text):
    def encode(self, value: object) -> _t.Union[bytes, str]:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            return "is not bytes"
        return bytes(_t.cast(bytes, value))

    def decode(self, data: bytes) -> object:
        return data


class _Hex(_Matcher):
    """Lower-case hexadecimal digits: exactly count of them if count > 0."""

    run = _re.compile(b"[0-9a-f]+")

    def __init__(self, count: int) -> None:
        self.count = count

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        found = self.run.match(data, start)
        if found and not self.count:
            yield from range(found.end(), start, -1)
        elif found and found.end() - start >= self.count:
            yield start + self.count


class _Int(_Matcher):
    """A whole number in its only spelling; an empty bound is none."""

    run = _re.compile(b"0|-?[1-9][0-9]*")
    chunk = 4000  # digits: some Pythons refuse to convert more at once
    base = 10**chunk

    def __init__(self, low: bytes, high: bytes) -> None:
        self.low = low
        self.high = high

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        found = self.run.match(data, start)
        if found:
            first = start + (data[start : start + 1] == b"-")
            for end in range(found.end(), first, -1):
                if self.order(data, start, end, self.low) >= 0 and self.order(data, start, end, self.high) <= 0:
                    yield end

    @staticmethod
    def order(data: bytes, start: int, end: int, other: bytes) -> int:
        """Compares the number at start…end with a bound."""
        if not other:
            return 0
        negative = data[start : start + 1] == b"-"
        if negative != other.startswith(b"-"):
            return -1 if negative else 1
        order = end - start - len(other)
        if order == 0:
            number = data[start:end]
            order = (number > other) - (number < other)
        return -order if negative else order

    def encode(self, value: object) -> _t.Union[bytes, str]:
        if not isinstance(value, int) or isinstance(value, bool):
            return "is not an int"
        rest = abs(int(value))
        parts: _t.List[str] = []
        while rest >= self.base:
            rest, part = divmod(rest, self.base)
            parts.append(str(part).zfill(self.chunk))
        digits = str(rest) + "".join(reversed(parts))
        return ("-" + digits if value < 0 else digits).encode("ascii")

    def decode(self, data: bytes) -> object:
        number, digits = 0, data.lstrip(b"-")
        for at in range(0, len(digits), self.chunk):
            part = digits[at : at + self.chunk]
            number = number * 10 ** len(part) + int(part)
        return -number if data.startswith(b"-") else number


class _Words(_Matcher):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = [word.encode("utf-8") for word in words]

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        for word in self.words:
            if data.startswith(word, start):
                yield start + len(word)


class _Bool(_Words):
    def encode(self, value: object) -> _t.Union[bytes, str]:
        if not isinstance(value, bool):
            return "is not a bool"
        return b"true" if value else b"false"

    def decode(self, data: bytes) -> object:
        return data == b"true"


class _Automaton(_Matcher):
    """The classes of the 256 bytes | the next states, row by row | the final states."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.width = 0
        self.classes: _t.List[int] = []
        self.next: _t.List[int] = []
        self.final: _t.FrozenSet[int] = frozenset()

    def unpack(self) -> None:
        classes, self.next, final = (self.runs(part) for part in self.text.split("|"))
        self.width, self.final, self.classes = max(classes) + 1, frozenset(final), classes

    @staticmethod
    def runs(text: str) -> _t.List[int]:
        out: _t.List[int] = []
        for run in text.split():
            value, _, count = run.partition(".")
            out.extend([-1 if value == "-" else int(value, 36)] * int(count or "1", 36))
        return out

    def ends(self, data: bytes, start: int) -> _t.Iterator[int]:
        if not self.classes:
            self.unpack()
        state = 0
        for at in range(start, len(data)):
            state = self.next[state * self.width + self.classes[data[at]]]
            if state < 0:
                return
            if state in self.final:
                yield at + 1


# Not every keyspace needs all of them.
_MATCHERS = (_Text, _Bytes, _Hex, _Int, _Words, _Bool, _Automaton)


class _Place(Placeholder):
    """A placeholder with its matcher, and what is said of a value that does not fit."""

    def __init__(self, name: str, argument: str, type_: str, matcher: _Matcher, expected: str, crosses: bool, no_braces: bool) -> None:
        super().__init__(name, argument, type_)
        self.matcher = matcher
        self.expected = expected
        self.crosses = crosses
        self.no_braces = no_braces

    def refuse(self, data: bytes) -> str:
        """Why a value cannot stand here; empty if it can."""
        if self.no_braces and (b"{" in data or b"}" in data):
            return "holds a brace, which would move the key to another cluster slot"
        if any(end == len(data) for end in self.matcher.ends(data, 0)):
            return ""
        if not data:
            return "is empty"
        if not self.crosses and b":" in data:
            return "holds the separator ':'"
        return "is not " + self.expected


class _Pattern:
    """The pieces of a pattern: bytes and placeholders."""

    def __init__(self, name: str, pattern: str, owner: str, steps: _t.Tuple[_t.Union[bytes, _Place], ...]) -> None:
        self.name = name
        self.pattern = pattern
        self.owner = owner
        self._steps = steps
        self.placeholders: _t.Tuple[Placeholder, ...] = tuple(step for step in steps if isinstance(step, _Place))

    def _build(self, values: _t.Dict[str, object]) -> bytes:
        return b"".join(step if isinstance(step, bytes) else self._value(step, values[step.argument]) for step in self._steps)

    def _value(self, place: _Place, value: object) -> bytes:
        data = place.matcher.encode(value)
        reason = data if isinstance(data, str) else place.refuse(data)
        if isinstance(data, str) or reason:
            raise KeyValueError(self.name, place.name, reason)
        return data

    def _parse(self, key: object) -> _t.Optional[_t.Dict[str, object]]:
        if not isinstance(key, (str, bytes, bytearray, memoryview)):
            raise TypeError("a key is a str or bytes")
        try:
            data = key.encode("utf-8") if isinstance(key, str) else bytes(_t.cast(bytes, key))
        except UnicodeEncodeError:
            return None
        ends = [0] * len(self._steps)
        if not self._match(data, 0, 0, ends, set()):
            return None
        out: _t.Dict[str, object] = {}
        start = 0
        for step, end in zip(self._steps, ends):
            if isinstance(step, _Place):
                out[step.argument] = step.matcher.decode(data[start:end])
            start = end
        return None if any(value is None for value in out.values()) else out

    def _match(self, data: bytes, i: int, start: int, ends: _t.List[int], failed: _t.Set[_t.Tuple[int, int]]) -> bool:
        """Finds the ends of steps i and on. failed holds what has led to nothing."""
        if i == len(self._steps):
            return start == len(data)
        step = self._steps[i]
        if isinstance(step, bytes):
            ends[i] = start + len(step)
            return data.startswith(step, start) and self._match(data, i + 1, ends[i], ends, failed)
        if (i, start) in failed:
            return False
        for end in step.matcher.ends(data, start):
            ends[i] = end
            if self._match(data, i + 1, end, ends, failed):
                return True
        failed.add((i, start))
        return False


class Key(_Pattern):
    """What is declared of one key."""

    max_len: _t.Optional[int] = None  # of a stream: how many entries XADD should keep
    groups: _t.Tuple[str, ...] = ()  # of a stream: its consumer groups

    def __init__(
        self, name: str, entry: str, role: str, pattern: str, type_: str, construct: str, owner: str, *steps: _t.Union[bytes, _Place]
    ) -> None:
        super().__init__(name, pattern, owner, steps)
        self.entry = entry
        self.role = role  # of a further key of a construct
        self.type = type_  # as TYPE answers
        self.construct = construct  # "cache", "lock", …; empty for a plain Redis type


class Channel(_Pattern):
    """What is declared of one pub/sub channel."""

    def __init__(self, name: str, pattern: str, owner: str, *steps: _t.Union[bytes, _Place]) -> None:
        super().__init__(name, pattern, owner, steps)


