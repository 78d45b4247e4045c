from __future__ import annotations

import base64 as _base64
import copy as _copy
import datetime as _dt
import json as _json
import math as _math
import random as _random
import re as _re
import typing as _t


class KeyValueError(ValueError):
    """A value that cannot be in a key. It never holds the value."""

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

    def __init__(self, name: str, argument: str, type_: str, matcher: _Matcher, expected: str, crosses: bool, no_braces: bool, fallback: str = "") -> None:
        super().__init__(name, argument, type_)
        self.matcher = matcher
        self.expected = expected
        self.crosses = crosses
        self.no_braces = no_braces
        self.fallback = fallback

    def refuse(self, data: bytes) -> str:
        """Why a value cannot be here; empty if it can."""
        if self.no_braces and (b"{" in data or b"}" in data):
            return "holds a brace, which would move the key to another cluster slot"
        if any(end == len(data) for end in self.matcher.ends(data, 0)):
            return ""
        if not data:
            return "is empty"
        if not self.crosses and b":" in data:
            return "holds the separator ':'"
        return "is not " + self.expected


class _Namespace(bytes):
    """The piece of a pattern that is the name of the namespace."""


_Self = _t.TypeVar("_Self", bound="_Pattern")


class _Pattern:
    """The pieces of a pattern: bytes and placeholders."""

    def __init__(self, name: str, pattern: str, owner: str, steps: _t.Tuple[_t.Union[bytes, _Place], ...]) -> None:
        self.name = name
        self.pattern = pattern
        self.owner = owner
        self._steps = steps
        self.placeholders: _t.Tuple[Placeholder, ...] = tuple(step for step in steps if isinstance(step, _Place))

    def in_namespace(self: _Self, name: str) -> _Self:
        """The same in another namespace, whose name InNamespace has checked."""
        other = _copy.copy(self)
        other._steps = tuple(_Namespace(name.encode("ascii")) if isinstance(step, _Namespace) else step for step in self._steps)
        glob = b"".join(_re.sub(rb"([*?\[\]\\])", rb"\\\1", step) if isinstance(step, bytes) else b"*" for step in other._steps)
        for attribute in ("scan_pattern", "subscribe_pattern"):
            if hasattr(self, attribute):
                setattr(other, attribute, glob if isinstance(getattr(self, attribute), bytes) else glob.decode("utf-8"))
        return other

    def _build(self, values: _t.Dict[str, object]) -> bytes:
        return b"".join(step if isinstance(step, bytes) else self._value(step, values[step.argument]) for step in self._steps)

    def _value(self, place: _Place, value: object) -> bytes:
        data = place.matcher.encode(place.fallback if value == "" and place.fallback else value)
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


class StoredValueError(ValueError):
    """A value that does not fit its declared type. It never holds the value."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"the field {field} {reason}" if field else f"the value {reason}")
        self.field = field  # empty for a whole value
        self.reason = reason


_Stored = _t.Union[str, bytes, bytearray, memoryview, int, float]
_T = _t.TypeVar("_T")
_W = _t.TypeVar("_W")


class Codec(_t.Generic[_T, _W]):
    """Writes and reads one type of value. _W is what is stored: str, bytes, or the
    number that is a score."""

    def __init__(self, scalar: _Scalar) -> None:
        self._scalar = scalar

    def encode(self, value: _T) -> _W:
        """What to store. Raises a StoredValueError if the value does not fit the declared type."""
        return _t.cast(_W, self._scalar.encode(value))

    def decode(self, stored: _Stored) -> _T:
        """The value of what is stored. Raises a StoredValueError if it is none. What only
        narrows (a range, a length, the words of an enum) is not checked: an older reader
        survives a value of a newer writer."""
        return _t.cast(_T, self._scalar.decode(stored))


class PayloadCodec(Codec[_T, _W]):
    """Writes and reads the payload of a queue's jobs."""

    def decode_job(self, stored: _t.Union[str, bytes]) -> _T:
        """The payload of a stored job: what is after its first line, which is the queue's own."""
        return self.decode(stored.partition("\n")[2] if isinstance(stored, str) else stored.partition(b"\n")[2])


class FieldsCodec(_t.Generic[_T, _W]):
    """Writes and reads the fields of a hash, or of an entry of a stream."""

    def __init__(self, *members: _Member) -> None:
        self._members = members

    def encode(self, value: _T) -> _t.Dict[str, _W]:
        """For HSET and XADD: the fields by name. Raises a StoredValueError."""
        out = {m.name: _within(m.name, m.scalar.encode, given) for m, given in _given(self._members, value)}
        return _t.cast(_t.Dict[str, _W], out)

    def decode(self, fields: _t.Mapping[_t.Any, _t.Any]) -> _T:
        """Of HGETALL or of a stream's entry, in str or in bytes. Raises a StoredValueError."""
        raw = {_text_of(name): stored for name, stored in fields.items()}
        return _t.cast(_T, {m.name: _within(m.name, m.scalar.decode, stored) for m, stored in _present(self._members, raw)})


def _text_of(stored: object) -> str:
    if isinstance(stored, (bytes, bytearray, memoryview)):
        try:
            return bytes(_t.cast(bytes, stored)).decode("utf-8")
        except UnicodeDecodeError:
            raise StoredValueError("", "is not UTF-8") from None
    return str(stored)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise StoredValueError("", "is not a str")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise StoredValueError("", "has half a surrogate pair, which is no text") from None
    return value


def _within(field: str, action: _t.Callable[[_t.Any], _t.Any], value: object) -> _t.Any:
    """Names the field in what an action raises."""
    try:
        return action(value)
    except StoredValueError as error:
        raise StoredValueError(field, error.reason) from None


class _Scalar:
    """One scalar type as it is stored: text."""

    quoted = True  # a JSON string in a JSON object; else the JSON that it is

    def encode(self, value: object) -> _t.Union[str, bytes, int, float]:
        return _text(value)

    def decode(self, stored: _Stored) -> object:
        return _text_of(stored)

    def to_json(self, value: object) -> str:
        text = _t.cast(str, self.encode(value))
        return _json.dumps(text, ensure_ascii=False) if self.quoted else text

    def from_json(self, value: object) -> object:
        """Of what JSON has there."""
        if not isinstance(value, str):
            raise StoredValueError("", "is not a JSON text")
        return self.decode(value)


class _TextValue(_Scalar):
    """Text of at most limit bytes if limit > 0."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def encode(self, value: object) -> str:
        text = _text(value)
        if self.limit and len(text.encode("utf-8")) > self.limit:
            raise StoredValueError("", f"is longer than {self.limit} bytes")
        return text


class _MatchedValue(_Scalar):
    """Text that an automaton decides; empty is whether it may be."""

    def __init__(self, matcher: _Matcher, empty: bool, expected: str) -> None:
        self.matcher = matcher
        self.empty = empty
        self.expected = expected

    def encode(self, value: object) -> str:
        data = _text(value).encode("utf-8")
        if not (any(end == len(data) for end in self.matcher.ends(data, 0)) if data else self.empty):
            raise StoredValueError("", "is not " + self.expected)
        return data.decode("utf-8")


class _WordValue(_Scalar):
    def __init__(self, *words: str) -> None:
        self.words = words

    def encode(self, value: object) -> str:
        if value not in self.words:
            raise StoredValueError("", "is not one of " + ", ".join(self.words))
        return str(value)


class _BareValue(_Scalar):
    """What is a number, true or false in a JSON object."""

    quoted = False

    def from_json(self, value: object) -> object:
        if isinstance(value, (str, dict, list)):
            raise StoredValueError("", "is a JSON text, object or list where a number or bool is declared")
        return self.decode(_json.dumps(value))


class _IntValue(_BareValue):
    """A whole number of 64 bits, within bounds when it is written."""

    form = _re.compile(r"0|-?[1-9][0-9]{0,18}")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def encode(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise StoredValueError("", "is not an int")
        if not self.low <= value <= self.high:
            raise StoredValueError("", f"is not within {self.low}..{self.high}")
        return str(int(value))

    def decode(self, stored: _Stored) -> object:
        text = _text_of(stored)
        if not self.form.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
            raise StoredValueError("", "is not a whole number of 64 bits")
        return int(text)


def _decimal(value: float) -> str:
    """The only spelling of a number: no exponent, no trailing zeros."""
    text, _, exponent = repr(value).partition("e")
    if not exponent:
        return text[:-2] if text.endswith(".0") else text
    sign = text[: text.startswith("-")]
    first, _, rest = text[len(sign) :].partition(".")
    point = int(exponent)
    return sign + ("0." + "0" * (-point - 1) + first + rest if point < 0 else first + rest + "0" * (point - len(rest)))


class _FloatValue(_BareValue):
    form = _re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", _re.IGNORECASE)

    def encode(self, value: object) -> str:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or _math.isnan(value):
            raise StoredValueError("", "is not a number")
        return _decimal(float(value))

    def decode(self, stored: _Stored) -> object:
        text = _text_of(stored)
        if not self.form.fullmatch(text):
            raise StoredValueError("", "is not a number")
        return float(text)

    def to_json(self, value: object) -> str:
        text = self.encode(value)
        if text.endswith("inf"):
            raise StoredValueError("", "is infinite, which JSON cannot say")
        return text


class _BoolValue(_BareValue):
    def encode(self, value: object) -> str:
        if not isinstance(value, bool):
            raise StoredValueError("", "is not a bool")
        return "true" if value else "false"

    def decode(self, stored: _Stored) -> object:
        text = _text_of(stored)
        if text not in ("true", "false"):
            raise StoredValueError("", "is neither true nor false")
        return text == "true"


class _BytesValue(_Scalar):
    """Any bytes; what is sealed is bytes, too. In a JSON object they are base64."""

    form = _re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")

    def encode(self, value: object) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise StoredValueError("", "is not bytes")
        return bytes(_t.cast(bytes, value))

    def decode(self, stored: _Stored) -> object:
        if isinstance(stored, (bytes, bytearray, memoryview)):
            return bytes(_t.cast(bytes, stored))
        return str(stored).encode("utf-8")

    def to_json(self, value: object) -> str:
        return '"' + _base64.b64encode(self.encode(value)).decode("ascii") + '"'

    def from_json(self, value: object) -> object:
        text = _text(value)
        if not self.form.fullmatch(text):
            raise StoredValueError("", "is not base64")
        return _base64.b64decode(text)


class _JSONValue(_Scalar):
    def encode(self, value: object) -> str:
        try:
            return _json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError):
            raise StoredValueError("", "cannot be written as JSON") from None

    def decode(self, stored: _Stored) -> object:
        return _parsed(_text_of(stored))

    def to_json(self, value: object) -> str:
        return self.encode(value)

    def from_json(self, value: object) -> object:
        return value


def _parsed(text: str) -> object:
    def refuse(name: str) -> object:
        raise ValueError(name)

    def whole(digits: str) -> object:  # -0 is no int in any language
        return -0.0 if digits == "-0" else int(digits)

    try:
        return _t.cast(object, _json.loads(text, parse_constant=refuse, parse_int=whole))
    except ValueError:
        raise StoredValueError("", "is not JSON") from None
    except RecursionError:
        raise StoredValueError("", "is nested too deeply") from None


def _moment(value: object) -> _dt.datetime:
    if not isinstance(value, _dt.datetime):
        raise StoredValueError("", "is not a datetime")
    if value.tzinfo is None:
        raise StoredValueError("", "has no time zone")
    return value


_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc)


class _UnixValue(_BareValue):
    """A Unix time in seconds (1) or milliseconds (1000 of which are a second)."""

    form = _re.compile(r"0|[1-9][0-9]*")

    def __init__(self, in_second: int) -> None:
        self.in_second = in_second

    def encode(self, value: object) -> str:
        n = (_moment(value) - _EPOCH) // _dt.timedelta(microseconds=1_000_000 // self.in_second)
        if n < 0:
            raise StoredValueError("", "is before 1970")
        return str(n)

    def decode(self, stored: _Stored) -> object:
        text = _text_of(stored)
        try:
            if self.form.fullmatch(text):
                return _EPOCH + int(text) * _dt.timedelta(microseconds=1_000_000 // self.in_second)
        except OverflowError:
            pass
        raise StoredValueError("", "is not a Unix time in " + ("seconds" if self.in_second == 1 else "milliseconds"))


class _TimestampValue(_Scalar):
    """RFC 3339, as every client writes it: a fraction of a second has no zeros at its end. A datetime
    holds microseconds; what is smaller is cut."""

    form = _re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", _re.ASCII)

    def encode(self, value: object) -> str:
        moment = _moment(value)
        offset = moment.utcoffset() or _dt.timedelta()
        if offset % _dt.timedelta(minutes=1):
            moment = moment.astimezone(_dt.timezone.utc)
        text = moment.isoformat()
        at, zone = text[: -len("+00:00")], text[-len("+00:00") :]
        return (at.rstrip("0") if moment.microsecond else at) + ("Z" if zone == "+00:00" else zone)

    def decode(self, stored: _Stored) -> object:
        found = self.form.fullmatch(_text_of(stored))
        try:
            if found:
                year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
                fraction, sign, hours, minutes = found.groups()[6:]
                offset = _dt.timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
                micro = int((fraction or "").ljust(6, "0")[:6])
                if int(minutes or 0) < 60:
                    return _dt.datetime(year, month, day, hour, minute, second, micro, _dt.timezone(offset))
        except ValueError:
            pass
        raise StoredValueError("", "is not an RFC 3339 timestamp")


class _DateValue(_Scalar):
    """A date in a layout of YYYY, MM, DD, HH, mm and ss. With a day and nothing else it is
    a date; else a datetime, in UTC when it is read. What the layout lacks is that of
    1 January, and the year 2000."""

    parts = (("YYYY", "year"), ("MM", "month"), ("DD", "day"), ("HH", "hour"), ("mm", "minute"), ("ss", "second"))

    def __init__(self, layout: str) -> None:
        self.layout = layout
        pattern = _re.escape(layout)
        for token, name in self.parts:
            pattern = pattern.replace(token, f"(?P<{name}>[0-9]{{{len(token)}}})", 1)
        self.form = _re.compile(pattern)
        self.whole_day = {token for token, _ in self.parts if token in layout} == {"YYYY", "MM", "DD"}

    def encode(self, value: object) -> str:
        if not isinstance(value, _dt.date) or (not self.whole_day and not isinstance(value, _dt.datetime)):
            raise StoredValueError("", "is not a date" if self.whole_day else "is not a datetime")
        text = self.layout
        for token, name in self.parts:
            if token in text:
                text = text.replace(token, str(_t.cast(int, getattr(value, name))).zfill(len(token)), 1)
        return text

    def decode(self, stored: _Stored) -> object:
        found = self.form.fullmatch(_text_of(stored))
        try:
            if found:
                given = {name: int(part) for name, part in found.groupdict().items()}
                year, month, day = given.get("year", 2000), given.get("month", 1), given.get("day", 1)
                if self.whole_day:
                    return _dt.date(year, month, day)
                return _dt.datetime(year, month, day, given.get("hour", 0), given.get("minute", 0), given.get("second", 0), tzinfo=_dt.timezone.utc)
        except ValueError:
            pass
        raise StoredValueError("", "is not a date like " + self.layout)


class _Member:
    """One field of an object, a hash or a stream."""

    def __init__(self, name: str, optional: bool, scalar: _Scalar) -> None:
        self.name = name
        self.optional = optional
        self.scalar = scalar


def _given(members: _t.Tuple[_Member, ...], value: object) -> _t.Iterator[_t.Tuple[_Member, object]]:
    """The members that are there; None is absent."""
    if not isinstance(value, dict):
        raise StoredValueError("", "is not a dict")
    return _present(members, _t.cast(_t.Dict[str, object], value))


def _present(members: _t.Tuple[_Member, ...], raw: _t.Mapping[str, _t.Any]) -> _t.Iterator[_t.Tuple[_Member, _t.Any]]:
    for member in members:
        value = raw.get(member.name)
        if value is not None:
            yield member, value
        elif not member.optional:
            raise StoredValueError(member.name, "is missing")


class _ObjectValue(_Scalar):
    """A JSON object with declared members; others are passed over."""

    def __init__(self, *members: _Member) -> None:
        self.members = members

    def encode(self, value: object) -> str:
        parts = [_json.dumps(m.name, ensure_ascii=False) + ":" + _within(m.name, m.scalar.to_json, given) for m, given in _given(self.members, value)]
        return "{" + ",".join(parts) + "}"

    def decode(self, stored: _Stored) -> object:
        return self.from_json(_parsed(_text_of(stored)))

    def to_json(self, value: object) -> str:
        return self.encode(value)

    def from_json(self, value: object) -> object:
        if not isinstance(value, dict):
            raise StoredValueError("", "is not a JSON object")
        raw = _t.cast(_t.Dict[str, object], value)
        return {m.name: _within(m.name, m.scalar.from_json, given) for m, given in _present(self.members, raw)}


class _ScoreValue(_Scalar):
    """A score, which is a double to the server."""

    def __init__(self, scalar: _Scalar) -> None:
        self.scalar = scalar

    def encode(self, value: object) -> _t.Union[int, float]:
        text = _text_of(self.scalar.encode(value))
        if isinstance(self.scalar, _FloatValue):
            return float(text)
        if abs(int(text)) > 2**53:
            raise StoredValueError("", "is too large to be exact as a score")
        return int(text)

    def decode(self, stored: _Stored) -> object:
        number = _t.cast(float, _FloatValue().decode(stored))
        return self.scalar.decode(str(int(number)) if number.is_integer() and not isinstance(self.scalar, _FloatValue) else repr(number))


_VALUES = (_TextValue, _MatchedValue, _WordValue, _IntValue, _FloatValue, _BoolValue, _BytesValue, _JSONValue, _UnixValue, _TimestampValue, _DateValue, _ObjectValue, _ScoreValue)


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


