/** The Redis type of a key, as TYPE answers. */
export type RedisType = "string" | "hash" | "list" | "set" | "zset" | "stream";

/** One placeholder of a pattern: its name there, its property here, its type. */
export interface Placeholder {
  readonly name: string;
  readonly property: string;
  readonly type: string;
}

/** What is true of every key of one declaration. */
export interface Metadata {
  /** The name in the declaration; a further key of a construct is `entry.role`. */
  readonly name: string;
  readonly entry: string;
  readonly role: string;
  readonly pattern: string;
  readonly type: RedisType;
  /** "cache", "lock", …; empty for a plain Redis type. */
  readonly construct: string;
  readonly owner: string;
  readonly placeholders: readonly Placeholder[];
  /** Of a stream: how many entries XADD should keep, if that is declared. */
  readonly maxLen?: number;
  /** Of a stream: its consumer groups, if they are declared. */
  readonly groups?: readonly string[];
}

/** One declared key. K is string, or Uint8Array where keys are not always text. */
export interface Key<Args extends unknown[], Out, K extends string | Uint8Array, T extends Ttl> extends Metadata {
  readonly ttl: T;
  /** For SCAN … MATCH: finds every key of the pattern, and maybe others, which parse refuses. */
  readonly scanPattern: K;
  /** Builds the key. Throws a KeyError if a value does not fit. */
  key(...params: Args): K;
  /** Reads the values out of a key; undefined if it is not one of these. */
  parse(key: string | Uint8Array): Out | undefined;
}

/** One declared pub/sub channel. */
export interface Channel<Args extends unknown[], Out, K extends string | Uint8Array> {
  readonly name: string;
  readonly pattern: string;
  readonly owner: string;
  readonly placeholders: readonly Placeholder[];
  /** For PSUBSCRIBE. */
  readonly subscribePattern: K;
  /** Builds the name of the channel. Throws a KeyError if a value does not fit. */
  channel(...params: Args): K;
  /** Reads the values out of the name of a channel; undefined if it is not one of these. */
  parse(channel: string | Uint8Array): Out | undefined;
}

/** Any declared key. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyKey = Key<any[], object, string | Uint8Array, Ttl>;

/** Any declared channel. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyChannel = Channel<any[], object, string | Uint8Array>;

/** Must expire. The bounds are what a writer may ask for, before the jitter. */
export interface TtlExpires {
  readonly policy: "expires";
  /** As declared. */
  readonly text: string;
  readonly defaultMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** 0.1 widens what is written by 10 % on both sides. */
  readonly jitter: number;
  /** Renewed on use. */
  readonly sliding: boolean;
  /** Milliseconds to write, with jitter. Throws a RangeError outside of the bounds. */
  px(wantedMs?: number, random?: () => number): number;
  /** Whole seconds to write; for TTLs of a second and more. */
  ex(wantedMs?: number, random?: () => number): number;
  /** For ioredis: redis.set(key, value, ...ttl.args()) */
  args(wantedMs?: number, random?: () => number): ["PX", number];
  /** For node-redis: client.set(key, value, ttl.options()) */
  options(wantedMs?: number, random?: () => number): { PX: number };
}

/** Must never expire. */
export interface TtlNone {
  readonly policy: "none";
  readonly text: string;
}

/** May expire or not. */
export interface TtlAny {
  readonly policy: "any";
  readonly text: string;
}

export type Ttl = TtlExpires | TtlNone | TtlAny;

/** A value that cannot stand in a key. It never holds the value. */
export class KeyError extends Error {
  /** The name of the declaration. */
  readonly key: string;
  /** The placeholder as in the pattern. */
  readonly placeholder: string;
  readonly reason: string;
  constructor(key: string, placeholder: string, reason: string) {
    super(`the value for {${placeholder}} of ${key} ${reason}`);
    this.name = "KeyError";
    this.key = key;
    this.placeholder = placeholder;
    this.reason = reason;
  }
}

declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new (label: string, options: { fatal: boolean; ignoreBOM: boolean }) => { decode(bytes: Uint8Array): string };

const $encoder = new TextEncoder();
const $decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether a value is bytes, also those of another realm (as in the vm module and in test runners). */
function $isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";
}

/** The bytes of a text; undefined for one with half a surrogate pair. */
function $encode(text: string): Uint8Array | undefined {
  return /[\uD800-\uDFFF]/u.test(text) ? undefined : $encoder.encode(text);
}

/** The text of bytes; undefined if they are not UTF-8. */
function $decode(bytes: Uint8Array): string | undefined {
  try {
    return $decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Recognises the values of one placeholder. walk calls visit with the end of
 * every value that begins at from, until visit answers true.
 */
interface $Matcher {
  walk(bytes: Uint8Array, from: number, visit: (end: number) => boolean): boolean;
  /** The bytes of a value; a text says what is wrong with it. */
  encode(value: unknown): Uint8Array | string;
  decode(bytes: Uint8Array): unknown;
}

function $textual(walk: $Matcher["walk"]): $Matcher {
  return {
    walk,
    encode: (value) => (typeof value === "string" ? ($encode(value) ?? "has half a surrogate pair, which is no text") : "is not a string"),
    decode: $decode,
  };
}

/** Any bytes: at most max of them if max > 0, with separators and braces or not. */
function $text(max: number, separators: boolean, braces: boolean): $Matcher {
  return $textual((bytes, from, visit) => {
    const stop = max > 0 ? Math.min(from + max, bytes.length) : bytes.length;
    for (let at = from; at < stop; at++) {
      const b = bytes[at];
      if ((!separators && b === 0x3a) || (!braces && (b === 0x7b || b === 0x7d))) return false;
      if (visit(at + 1)) return true;
    }
    return false;
  });
}

function $bytes(max: number, separators: boolean, braces: boolean): $Matcher {
  return {
    walk: $text(max, separators, braces).walk,
    encode: (value) => ($isBytes(value) ? value : "is not a Uint8Array"),
    decode: (bytes) => new Uint8Array(bytes),
  };
}

function $isDigit(b: number | undefined): boolean {
  return b !== undefined && b >= 0x30 && b <= 0x39;
}

/** Lower-case hexadecimal digits: exactly n of them if n > 0. */
function $hex(n: number): $Matcher {
  return $textual((bytes, from, visit) => {
    for (let at = from; at < bytes.length; at++) {
      const b = bytes[at];
      if (!$isDigit(b) && !(b !== undefined && b >= 0x61 && b <= 0x66)) return false;
      if ((n === 0 || at + 1 - from === n) && visit(at + 1)) return true;
      if (at + 1 - from === n) return false;
    }
    return false;
  });
}

/** Compares the number at from…end with another one, both in their only spelling. */
function $compare(bytes: Uint8Array, from: number, end: number, other: string): number {
  const negative = bytes[from] === 0x2d;
  if (negative !== (other[0] === "-")) return negative ? -1 : 1;
  let order = end - from - other.length;
  for (let i = 0; order === 0 && i < other.length; i++) order = (bytes[from + i] ?? 0) - other.charCodeAt(i);
  return negative ? -order : order;
}

/** A whole number in its only spelling; an empty bound is none. */
function $int(low: string, high: string): $Matcher {
  return {
    walk(bytes, from, visit) {
      const first = bytes[from] === 0x2d ? from + 1 : from;
      for (let at = first; $isDigit(bytes[at]); at++) {
        if (bytes[first] === 0x30 && (at > first || first > from)) return false;
        const inside = (low === "" || $compare(bytes, from, at + 1, low) >= 0) && (high === "" || $compare(bytes, from, at + 1, high) <= 0);
        if (inside && visit(at + 1)) return true;
      }
      return false;
    },
    encode(value) {
      if (typeof value === "bigint") return $encoder.encode(value.toString());
      if (typeof value !== "number" || !Number.isInteger(value) || Object.is(value, -0)) return "is not an integer";
      return Number.isSafeInteger(value) ? $encoder.encode(String(value)) : "is too large to be exact as a number: pass a bigint";
    },
    decode(bytes) {
      const text = $decode(bytes) ?? "";
      const n = Number(text);
      return Number.isSafeInteger(n) ? n : BigInt(text);
    },
  };
}

/** One of some words. */
function $words(...words: string[]): $Matcher {
  let all: Uint8Array[] | undefined;
  return $textual((bytes, from, visit) => {
    all ??= words.map((word) => $encoder.encode(word));
    return all.some((word) => $begins(bytes, from, word) && visit(from + word.length));
  });
}

function $bool(): $Matcher {
  return {
    walk: $words("true", "false").walk,
    encode: (value) => (typeof value === "boolean" ? $encoder.encode(String(value)) : "is not true or false"),
    decode: (bytes) => bytes.length === 4,
  };
}

function $runs(text: string): number[] {
  const out: number[] = [];
  for (const run of text.split(" ")) {
    const [value = "", count = "1"] = run.split(".");
    for (let n = parseInt(count, 36); n > 0; n--) out.push(value === "-" ? -1 : parseInt(value, 36));
  }
  return out;
}

/** An automaton: the classes of the 256 bytes | the next states, row by row | the final states. */
function $automaton(text: string): $Matcher {
  let table: { classes: number[]; width: number; next: number[]; final: Set<number> } | undefined;
  return $textual((bytes, from, visit) => {
    if (table === undefined) {
      const [classes = [], next = [], final = []] = text.split("|").map($runs);
      table = { classes, width: Math.max(...classes) + 1, next, final: new Set(final) };
    }
    let state = 0;
    for (let at = from; at < bytes.length; at++) {
      state = table.next[state * table.width + (table.classes[bytes[at] ?? 0] ?? 0)] ?? -1;
      if (state < 0) return false;
      if (table.final.has(state) && visit(at + 1)) return true;
    }
    return false;
  });
}

function $begins(bytes: Uint8Array, from: number, literal: Uint8Array): boolean {
  return from + literal.length <= bytes.length && literal.every((b, i) => bytes[from + i] === b);
}

/** A placeholder with its matcher, and what is said of a value that does not fit. */
interface $Place extends Placeholder {
  readonly matcher: $Matcher;
  readonly expected: string;
  readonly crosses: boolean;
  readonly noBraces: boolean;
}

function $place(name: string, property: string, type: string, matcher: $Matcher, expected: string, crosses: boolean, noBraces: boolean): $Place {
  return { name, property, type, matcher, expected, crosses, noBraces };
}

class $Pattern {
  readonly places: readonly $Place[];
  readonly #name: string;
  readonly #binary: boolean;
  readonly #steps: readonly (string | readonly number[] | $Place)[];
  #pieces: readonly (Uint8Array | $Place)[] | undefined;

  constructor(name: string, binary: boolean, steps: readonly (string | readonly number[] | $Place)[]) {
    this.#name = name;
    this.#binary = binary;
    this.#steps = steps;
    this.places = steps.filter((step): step is $Place => typeof step === "object" && "matcher" in step);
  }

  build(params: Readonly<Record<string, unknown>>): string | Uint8Array {
    const parts = this.#elements().map((e) => ("matcher" in e ? this.#value(e, params[e.property]) : e));
    const key = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of parts) {
      key.set(part, at);
      at += part.length;
    }
    return this.#binary ? key : $decoder.decode(key);
  }

  parse(key: string | Uint8Array): Record<string, unknown> | undefined {
    if (typeof key !== "string" && !$isBytes(key)) throw new TypeError("a key is a string or a Uint8Array");
    const bytes = typeof key === "string" ? $encode(key) : key;
    const ends: number[] = [];
    if (bytes === undefined || !this.#match(bytes, 0, 0, ends, new Set())) return undefined;
    const out: Record<string, unknown> = {};
    let from = 0;
    for (const [i, e] of this.#elements().entries()) {
      const end = ends[i] ?? from;
      if ("matcher" in e) {
        const value = e.matcher.decode(bytes.subarray(from, end));
        if (value === undefined) return undefined;
        out[e.property] = value;
      }
      from = end;
    }
    return out;
  }

  #elements(): readonly (Uint8Array | $Place)[] {
    this.#pieces ??= this.#steps.map((step) => (typeof step === "string" ? $encoder.encode(step) : "matcher" in step ? step : Uint8Array.from(step)));
    return this.#pieces;
  }

  #value(place: $Place, value: unknown): Uint8Array {
    const bytes = place.matcher.encode(value);
    const reason = typeof bytes === "string" ? bytes : $refuse(place, bytes);
    if (typeof bytes === "string" || reason !== "") throw new KeyError(this.#name, place.name, reason);
    return bytes;
  }

  /** Finds the ends of elements i and on. failed holds what has led to nothing. */
  #match(bytes: Uint8Array, i: number, from: number, ends: number[], failed: Set<number>): boolean {
    const e = this.#elements()[i];
    if (e === undefined) return from === bytes.length;
    const visit = (end: number): boolean => {
      ends[i] = end;
      return this.#match(bytes, i + 1, end, ends, failed);
    };
    if (!("matcher" in e)) return $begins(bytes, from, e) && visit(from + e.length);
    const mark = i * (bytes.length + 1) + from;
    if (failed.has(mark)) return false;
    const found = e.matcher.walk(bytes, from, visit);
    if (!found) failed.add(mark);
    return found;
  }
}

/** Why a value cannot stand for a placeholder; empty if it can. */
function $refuse(place: $Place, bytes: Uint8Array): string {
  if (place.noBraces && (bytes.includes(0x7b) || bytes.includes(0x7d))) return "holds a brace, which would move the key to another cluster slot";
  if (place.matcher.walk(bytes, 0, (end) => end === bytes.length)) return "";
  if (bytes.length === 0) return "is empty";
  if (!place.crosses && bytes.includes(0x3a)) return "holds the separator ':'";
  return `is not ${place.expected}`;
}

interface $Info {
  readonly name: string;
  readonly entry: string;
  readonly role: string;
  readonly pattern: string;
  readonly type: RedisType;
  readonly construct: string;
  readonly owner: string;
  readonly ttl: Ttl;
  readonly scanPattern: string | readonly number[];
  readonly maxLen?: number;
  readonly groups?: readonly string[];
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $key(info: $Info, binary: boolean, ...steps: readonly (string | readonly number[] | $Place)[]): Key<any, any, any, any> {
  const pattern = new $Pattern(info.name, binary, steps);
  return Object.freeze({
    ...info,
    placeholders: $placeholders(pattern),
    scanPattern: $glob(info.scanPattern, binary),
    key: (params: Readonly<Record<string, unknown>> = {}) => pattern.build(params),
    parse: (key: string | Uint8Array) => pattern.parse(key),
  });
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $channel(info: { name: string; pattern: string; owner: string; subscribePattern: string | readonly number[] }, binary: boolean, ...steps: readonly (string | readonly number[] | $Place)[]): Channel<any, any, any> {
  const pattern = new $Pattern(info.name, binary, steps);
  return Object.freeze({
    ...info,
    placeholders: $placeholders(pattern),
    subscribePattern: $glob(info.subscribePattern, binary),
    channel: (params: Readonly<Record<string, unknown>> = {}) => pattern.build(params),
    parse: (channel: string | Uint8Array) => pattern.parse(channel),
  });
}

function $placeholders(pattern: $Pattern): readonly Placeholder[] {
  return Object.freeze(pattern.places.map(({ name, property, type }) => Object.freeze({ name, property, type })));
}

function $glob(glob: string | readonly number[], binary: boolean): string | Uint8Array {
  if (typeof glob !== "string") return Uint8Array.from(glob);
  return binary ? $encoder.encode(glob) : glob;
}

function $expires(text: string, defaultMs: number, minMs: number, maxMs: number, jitter: number, sliding: boolean): TtlExpires {
  const px = (wantedMs = defaultMs, random: () => number = Math.random): number => {
    if (!(wantedMs >= minMs && wantedMs <= maxMs)) throw new RangeError(`a TTL of ${wantedMs} ms is not within ${text}`);
    return Math.max(1, Math.floor(wantedMs * (1 + jitter * (2 * random() - 1))));
  };
  const ex = (wantedMs?: number, random?: () => number): number => {
    if (maxMs < 1000) throw new RangeError(`${text} is shorter than a second: write it in milliseconds, with px()`);
    return Math.max(1, Math.floor(px(wantedMs, random) / 1000));
  };
  const args = (wantedMs?: number, random?: () => number): ["PX", number] => ["PX", px(wantedMs, random)];
  const options = (wantedMs?: number, random?: () => number): { PX: number } => ({ PX: px(wantedMs, random) });
  return Object.freeze({ policy: "expires", text, defaultMs, minMs, maxMs, jitter, sliding, px, ex, args, options });
}

// Not every keyspace needs all of them.
void [$text, $bytes, $hex, $int, $words, $bool, $automaton, $place, $key, $channel, $expires];

