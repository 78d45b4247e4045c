"""Runs the vectors of keyspaces against the modules generated from them:

    python3 run.py MODULE.py VECTORS.json …

Prints every difference and ends with 1 if there is one.
"""

import importlib.util
import json
import re
import sys

INTEGERS = ("int", "unix_s", "unix_ms")

# Whatever a careless program may pass, by the type that is wanted.
WRONG = {
    "int": [None, "", "1", "x", 1.0, float("nan"), -0.0, True, b"1", [], {}, [1], object()],
    "bool": [None, "true", 0, 1, b"true", []],
    "bytes": [None, "abc", 1, [97], object()],
    "str": [None, 1, True, b"abc", ["abc"], "\ud800", "a\udc80b", "\udcc3\udca9", object()],
}


class Run:
    def __init__(self, module, vectors):
        self.module = module
        self.vectors = vectors
        self.checks = 0
        self.failures = 0

    def check(self, ok, *what):
        self.checks += 1
        if not ok:
            self.failures += 1
            if self.failures <= 50:
                print(*[ascii(w) for w in what], file=sys.stderr)

    def everything(self):
        keys, channels = self.module.ALL_KEYS, self.module.ALL_CHANNELS
        self.check(len(keys) == len(self.vectors["keys"]) and len(channels) == len(self.vectors["channels"]), "not the same keys and channels")
        for subject in self.vectors["keys"]:
            item = keys[subject["name"]]
            self.subject(item, subject, item.key, item.scan_pattern)
        for subject in self.vectors["channels"]:
            item = channels[subject["name"]]
            self.subject(item, subject, item.channel, item.subscribe_pattern)

    def subject(self, item, subject, build, glob):
        name = subject["name"]
        self.metadata(item, subject, glob)
        for vector in subject["build"] + subject["parse"]:
            given, key = arguments(item, subject, vector["params"]), vector["key"]
            result = attempt(build, **given)
            self.check(raw(result) == raw(key), name, "build", given, "gives", result, "not", key)
            for form in forms(key):
                read = attempt(item.parse, form)
                same = read == given and [type(v) for v in read.values()] == [type(v) for v in given.values()]
                self.check(same, name, "parse", form, "gives", read, "not", given)
        for refusal in subject["rejectBuild"]:
            error = attempt(build, **arguments(item, subject, refusal["params"]))
            self.check(
                isinstance(error, self.module.KeyValueError)
                and (error.key, error.placeholder, error.reason) == (name, refusal["placeholder"], refusal["reason"]),
                name, "build", refusal, "gives", error,
            )  # fmt: skip
        for key in subject["rejectParse"] + subject["notText"]:
            for form in forms(key):
                read = attempt(item.parse, form)
                self.check(read is None, name, "parse", form, "gives", read)
        self.check(attempt(item.parse, "\ud800") is None, name, "parses half a surrogate pair")
        for bad in (None, 5, [97], {}):
            self.check(isinstance(attempt(item.parse, bad), TypeError), name, "parses", bad)
        self.careless(item, subject, build)
        self.huge(item, subject, build)

    def metadata(self, item, subject, glob):
        name = subject["name"]
        self.check((item.name, item.pattern) == (name, subject["pattern"]), name, "metadata", item.name, item.pattern)
        self.check(raw(glob) == raw(subject["glob"]), name, "glob", glob)
        want = [(p["name"], p["type"]) for p in subject["placeholders"]]
        self.check([(p.name, p.type) for p in item.placeholders] == want, name, "placeholders")
        if "ttl" not in subject:
            return
        self.check((item.type, item.construct) == (subject["type"], subject.get("construct", "")), name, "type", item.type, item.construct)
        self.check(item.ttl.policy == subject["ttl"]["policy"], name, "ttl", item.ttl.policy)
        if item.ttl.policy == "expires":
            self.lifetimes(name, item.ttl, subject["ttl"])
        else:
            self.check(item.ttl.px() is None, name, "px", item.ttl.px())

    def lifetimes(self, name, ttl, want):
        have = (ttl.default_ms, ttl.min_ms, ttl.max_ms, ttl.jitter, ttl.sliding)
        self.check(have == (want["defaultMs"], want["minMs"], want["maxMs"], want["jitter"], want["sliding"]), name, "ttl", have)
        for chance in (0.0, 0.5, 1 - 2**-53):
            ms = ttl.px(rand=lambda: chance)
            low, high = int(want["defaultMs"] * (1 - want["jitter"])), want["defaultMs"] * (1 + want["jitter"])
            self.check(isinstance(ms, int) and low <= ms <= high, name, "px", ms)
        self.check(ttl.px(want["maxMs"], lambda: 0.5) == want["maxMs"], name, "px of the longest")
        for ms in (want["minMs"] - 1, want["maxMs"] + 1):
            self.check(isinstance(attempt(ttl.px, ms), ValueError), name, "px takes", ms)

    def huge(self, item, subject, build):
        """A number of 5,000 digits, where a number may have any length."""
        for place, declared in zip(item.placeholders, subject["placeholders"]):
            if re.fullmatch(r"int( \S+\.\.)?", declared["type"]):
                for number in (10**5000 + 7, 10**4000, 10**8000 + 10**4000):
                    given = {**arguments(item, subject, subject["build"][0]["params"]), place.argument: number}
                    key = attempt(build, **given)
                    self.check(attempt(item.parse, key) == given, item.name, "does not hold 5,000 digits for", declared["name"])

    def careless(self, item, subject, build):
        """Values of the wrong type, one at a time in place of a right one."""
        if not subject["build"]:
            return
        good = arguments(item, subject, subject["build"][0]["params"])
        for place, declared in zip(item.placeholders, subject["placeholders"]):
            for bad in WRONG[wanted(declared["kind"])]:
                error = attempt(build, **{**good, place.argument: bad})
                refused = isinstance(error, self.module.KeyValueError) and error.placeholder == declared["name"]
                self.check(refused, item.name, "takes", type(bad).__name__, "for", declared["name"], error)


def wanted(kind):
    return "int" if kind in INTEGERS else kind if kind in ("bool", "bytes") else "str"


def arguments(item, subject, params):
    """The values as the arguments of key()."""
    return {
        place.argument: bytes.fromhex(v["hex"]) if p["kind"] == "bytes" else int_of(v) if p["kind"] in INTEGERS else v
        for place, p, v in zip(item.placeholders, subject["placeholders"], params)
    }


def int_of(value):
    """Digits in pieces: some Pythons refuse to convert many at once."""
    if not isinstance(value, str):
        return value
    number = 0
    for digit in value.lstrip("-"):
        number = number * 10 + int(digit)
    return -number if value.startswith("-") else number


def raw(value):
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return value.encode("utf-8") if isinstance(value, str) else value


def forms(key):
    """A key as bytes and, if it is text, as a str."""
    data = raw(key)
    return [data, bytearray(data)] + ([key] if isinstance(key, str) else [])


def attempt(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except Exception as error:  # the answer is compared, whatever it is
        return error


def load(file):
    spec = importlib.util.spec_from_file_location("generated", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = module
    spec.loader.exec_module(module)
    return module


def main(files):
    checks = failures = 0
    for module_file, vector_file in zip(files[::2], files[1::2]):
        with open(vector_file, encoding="utf-8") as file:
            run = Run(load(module_file), json.load(file))
        run.everything()
        checks, failures = checks + run.checks, failures + run.failures
    print(f"{checks} checks, {failures} failures")
    return 0 if failures == 0 and checks > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
