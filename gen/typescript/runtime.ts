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

/**
 * Writes and reads one type of value. W is what is stored: text, bytes, or the
 * number that is a score.
 */
export interface Codec<T, W = string> {
  /** What to store. Throws a ValueError if the value does not fit the declared type. */
  encode(value: T): W;
  /**
   * The value of what is stored. Throws a ValueError if it is none. What only
   * narrows (a range, a length, the words of an enum) is not checked: an older
   * reader survives a value of a newer writer.
   */
  decode(stored: string | Uint8Array | number): T;
}

/** Writes and reads the payload of a queue's jobs. */
export interface PayloadCodec<T, W = string> extends Codec<T, W> {
  /** The payload of a stored job: what is after its first line, which is the queue's own. */
  decodeJob(stored: string | Uint8Array): T;
}

/** Writes and reads the fields of a hash, or of an entry of a stream. */
export interface FieldsCodec<T, W extends string | Uint8Array = string> {
  /** For HSET and XADD: the fields by name. Throws a ValueError. */
  encode(value: T): Record<string, W>;
  /** Of HGETALL or of a stream's entry: by name, or name and value in turn. Throws a ValueError. */
  decode(fields: Readonly<Record<string, string | Uint8Array>> | readonly (string | Uint8Array)[]): T;
}

/** A value that does not fit its declared type. It never holds the value. */
export class ValueError extends Error {
  /** The field at fault; empty for a whole value. */
  readonly field: string;
  readonly reason: string;
  constructor(field: string, reason: string) {
    super(field === "" ? `the value ${reason}` : `the field ${field} ${reason}`);
    this.name = "ValueError";
    this.field = field;
    this.reason = reason;
  }
}

/** A value that cannot be in a key. It never holds the value. */
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

declare const atob: (base64: string) => string;
declare const btoa: (bytes: string) => string;
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

/** A moment, which may be given as a Date too. */
function $dates(matcher: $Matcher, moment: $Scalar): $Matcher {
  const encode = (value: unknown): Uint8Array | string => {
    if (Object.prototype.toString.call(value) !== "[object Date]") return matcher.encode(value);
    try {
      return $encoder.encode(String(moment.encode(value)));
    } catch (error) {
      if (error instanceof ValueError) return error.reason;
      throw error;
    }
  };
  return { walk: (bytes, from, visit) => matcher.walk(bytes, from, visit), encode, decode: (bytes) => matcher.decode(bytes) };
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
  readonly fallback: string;
}

function $place(name: string, property: string, type: string, matcher: $Matcher, expected: string, crosses: boolean, noBraces: boolean, fallback = ""): $Place {
  return { name, property, type, matcher, expected, crosses, noBraces, fallback };
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

  #value(place: $Place, given: unknown): Uint8Array {
    const left = place.fallback !== "" && (given === undefined || given === "");
    const bytes = place.matcher.encode(left ? place.fallback : given);
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

/** Why a value cannot be the value of a placeholder; empty if it can. */
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
function $key<C extends object>(info: $Info, codecs: C, binary: boolean, ...steps: readonly (string | readonly number[] | $Place)[]): Key<any, any, any, any> & C {
  const pattern = new $Pattern(info.name, binary, steps);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const key: Key<any, any, any, any> = {
    ...info,
    placeholders: $placeholders(pattern),
    scanPattern: $glob(info.scanPattern, binary),
    key: (params: Readonly<Record<string, unknown>> = {}) => pattern.build(params),
    parse: (text: string | Uint8Array) => pattern.parse(text),
  };
  const out = Object.assign(key, codecs);
  Object.freeze(out);
  return out;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $channel<C extends object>(
  info: { name: string; pattern: string; owner: string; subscribePattern: string | readonly number[] },
  codecs: C,
  binary: boolean,
  ...steps: readonly (string | readonly number[] | $Place)[]
): Channel<any, any, any> & C {
  const pattern = new $Pattern(info.name, binary, steps);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const channel: Channel<any, any, any> = {
    ...info,
    placeholders: $placeholders(pattern),
    subscribePattern: $glob(info.subscribePattern, binary),
    channel: (params: Readonly<Record<string, unknown>> = {}) => pattern.build(params),
    parse: (text: string | Uint8Array) => pattern.parse(text),
  };
  const out = Object.assign(channel, codecs);
  Object.freeze(out);
  return out;
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

/** One scalar type as it is stored, and the form that it has in a JSON object. */
interface $Scalar {
  readonly form: "quoted" | "bare" | "inline" | "base64";
  encode(value: unknown): string | Uint8Array;
  decode(stored: string | Uint8Array | number): unknown;
}

function $bad(reason: string): never {
  throw new ValueError("", reason);
}

/** Names the field in what an action throws. */
function $in<T>(field: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof ValueError ? new ValueError(field, error.reason) : error;
  }
}

function $stored(stored: string | Uint8Array | number): string {
  if (typeof stored === "number") return String(stored);
  return typeof stored === "string" ? stored : ($decode(stored) ?? $bad("is not UTF-8"));
}

function $string(value: unknown): string {
  if (typeof value !== "string") return $bad("is not a string");
  return $encode(value) === undefined ? $bad("has half a surrogate pair, which is no text") : value;
}

/** Text of at most max bytes if max > 0. */
function $textValue(max: number): $Scalar {
  const encode = (value: unknown): string => {
    const text = $string(value);
    return max > 0 && $encoder.encode(text).length > max ? $bad(`is longer than ${max} bytes`) : text;
  };
  return { form: "quoted", encode, decode: $stored };
}

/** Text that an automaton decides; empty is whether it may be. */
function $matchedValue(matcher: $Matcher, empty: boolean, expected: string): $Scalar {
  const encode = (value: unknown): string => {
    const text = $string(value);
    const bytes = $encoder.encode(text);
    const fits = bytes.length === 0 ? empty : matcher.walk(bytes, 0, (end) => end === bytes.length);
    return fits ? text : $bad(`is not ${expected}`);
  };
  return { form: "quoted", encode, decode: $stored };
}

function $wordValue(...words: string[]): $Scalar {
  const encode = (value: unknown): string => (words.includes(value as string) ? (value as string) : $bad(`is not one of ${words.join(", ")}`));
  return { form: "quoted", encode, decode: $stored };
}

/** A whole number of 64 bits, within bounds when it is written. */
function $intValue(low: string, high: string): $Scalar {
  const encode = (value: unknown): string => {
    const bytes = $int("", "").encode(value);
    if (typeof bytes === "string") return $bad(bytes);
    const n = BigInt(value as number | bigint);
    return n < BigInt(low) || n > BigInt(high) ? $bad(`is not within ${low}..${high}`) : String(n);
  };
  const decode = (stored: string | Uint8Array | number): number | bigint => {
    const text = $stored(stored);
    if (!/^(0|-?[1-9][0-9]{0,18})$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) return $bad("is not a whole number of 64 bits");
    return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
  };
  return { form: "bare", encode, decode };
}

/** The only spelling of a finite number: no exponent. */
function $decimal(value: number): string {
  const [, sign = "", first = "", rest = "", exponent = ""] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value)) ?? [];
  const point = Number(exponent);
  if (point === 0) return String(value);
  return sign + (point < 0 ? "0." + "0".repeat(-point - 1) + first + rest : first + rest + "0".repeat(point - rest.length));
}

function $floatValue(): $Scalar {
  const encode = (value: unknown): string => {
    if (typeof value !== "number" || Number.isNaN(value)) return $bad("is not a number");
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    return Object.is(value, -0) ? "-0" : $decimal(value);
  };
  const decode = (stored: string | Uint8Array | number): number => {
    const text = $stored(stored);
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
    return /^[+-]?inf(inity)?$/i.test(text) ? (text.startsWith("-") ? -Infinity : Infinity) : $bad("is not a number");
  };
  return { form: "bare", encode, decode };
}

function $boolValue(): $Scalar {
  const decode = (stored: string | Uint8Array | number): boolean => {
    const text = $stored(stored);
    return text === "true" || (text !== "false" && $bad("is neither true nor false"));
  };
  return { form: "bare", encode: (value) => (typeof value === "boolean" ? String(value) : $bad("is not true or false")), decode };
}

/** Any bytes; what is sealed is bytes, too. */
function $bytesValue(): $Scalar {
  const encode = (value: unknown): Uint8Array => ($isBytes(value) ? value : $bad("is not a Uint8Array"));
  return { form: "base64", encode, decode: (stored) => ($isBytes(stored) ? new Uint8Array(stored) : $encoder.encode($stored(stored))) };
}

function $jsonValue(): $Scalar {
  const encode = (value: unknown): string => {
    const text: unknown = JSON.stringify(value);
    return typeof text === "string" ? text : $bad("cannot be written as JSON");
  };
  return { form: "inline", encode, decode: (stored) => $parsed($stored(stored)) };
}

function $parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return $bad("is not JSON");
  }
}

function $time(value: unknown): Date {
  const isDate = Object.prototype.toString.call(value) === "[object Date]" && !Number.isNaN((value as Date).getTime());
  return isDate ? (value as Date) : $bad("is not a Date");
}

/** The first millisecond after the year 9999. */
const $afterLast = 253402300800000;

/** A Unix time in seconds (unit 1000) or milliseconds (unit 1). */
function $unixValue(unit: number): $Scalar {
  const encode = (value: unknown): string => {
    const n = Math.floor($time(value).getTime() / unit);
    return n < 0 ? $bad("is before 1970") : n * unit < $afterLast ? String(n) : $bad("is after the year 9999");
  };
  const decode = (stored: string | Uint8Array | number): Date => {
    const text = $stored(stored);
    const date = new Date(Number(text) * unit);
    return /^(0|[1-9]\d*)$/.test(text) && date.getTime() < $afterLast ? date : $bad(`is not a Unix time in ${unit === 1 ? "milli" : ""}seconds`);
  };
  return { form: "bare", encode, decode };
}

/** The moment of these parts in UTC; undefined if there is no such day or hour. */
function $moment(year: number, month: number, day: number, hour: number, minute: number, second: number, ms: number): Date | undefined {
  const date = new Date(Date.UTC(2000, month - 1, 1, hour, minute, second, ms));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60 ? date : undefined;
}

/** RFC 3339. A Date holds milliseconds and no offset: it is written in UTC. */
function $timestampValue(): $Scalar {
  const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))$/;
  const encode = (value: unknown): string => {
    const text = $time(value).toISOString();
    return text.length === 24 ? text.replace(/\.?0*Z$/, "Z") : $bad("has a year that four digits cannot say");
  };
  const decode = (stored: string | Uint8Array | number): Date => {
    const parts = form.exec($stored(stored));
    const [year, month, day, hour, minute, second] = (parts ?? []).slice(1, 7).map(Number);
    const [fraction = "0", sign = "+", hours = "0", minutes = "0"] = (parts ?? []).slice(7);
    const at = parts && $moment(year ?? 0, month ?? 0, day ?? 0, hour ?? 0, minute ?? 0, second ?? 0, Math.floor(Number(fraction) * 1000 + 1e-6));
    if (!at || Number(hours) > 23 || Number(minutes) > 59) return $bad("is not an RFC 3339 timestamp");
    return new Date(at.getTime() - Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000);
  };
  return { form: "quoted", encode, decode };
}

/** A date in a layout of YYYY, MM, DD, HH, mm and ss, in UTC; what the layout lacks is that of 1 January of the year 0. */
function $dateValue(layout: string): $Scalar {
  const pieces = layout.split(/(YYYY|MM|DD|HH|mm|ss)/);
  const encode = (value: unknown): string => {
    const date = $time(value);
    const year = date.getUTCFullYear();
    if (year < 0 || year > 9999) return $bad("has a year that four digits cannot say");
    const parts: Record<string, number> = { YYYY: year, MM: date.getUTCMonth() + 1, DD: date.getUTCDate(), HH: date.getUTCHours(), mm: date.getUTCMinutes(), ss: date.getUTCSeconds() };
    return pieces.map((piece) => (piece in parts ? String(parts[piece]).padStart(piece.length, "0") : piece)).join("");
  };
  const decode = (stored: string | Uint8Array | number): Date => {
    const text = $stored(stored);
    const parts: Record<string, number> = { YYYY: 0, MM: 1, DD: 1, HH: 0, mm: 0, ss: 0 };
    let at = 0;
    let fits = true;
    for (const piece of pieces) {
      const part = text.slice(at, at + piece.length);
      at += piece.length;
      if (!(piece in parts)) fits &&= part === piece;
      else if (/^\d+$/.test(part) && part.length === piece.length) parts[piece] = Number(part);
      else fits = false;
    }
    const { YYYY = 0, MM = 0, DD = 0, HH = 0, mm = 0, ss = 0 } = parts;
    return (fits && at === text.length ? $moment(YYYY, MM, DD, HH, mm, ss, 0) : undefined) ?? $bad(`is not a date like ${layout}`);
  };
  return { form: "quoted", encode, decode };
}

/** One field of an object, a hash or a stream. */
interface $Member {
  readonly name: string;
  readonly optional: boolean;
  readonly scalar: $Scalar;
}

function $member(name: string, optional: boolean, scalar: $Scalar): $Member {
  return { name, optional, scalar };
}

/** What of an object is written: each member that is there, and its name in the error of one that is missing. */
function $each(members: readonly $Member[], value: unknown, write: (member: $Member, value: unknown) => void): void {
  if (typeof value !== "object" || value === null) $bad("is not an object");
  const record = value as Readonly<Record<string, unknown>>;
  for (const member of members) {
    const own = Object.hasOwn(record, member.name) || !(member.name in Object.prototype);
    const given = own ? record[member.name] : undefined;
    if (given !== undefined) $in(member.name, () => write(member, given));
    else if (!member.optional) throw new ValueError(member.name, "is missing");
  }
}

/** The object of what is read; a name like __proto__ is a name as others. */
function $gathered<T>(members: readonly $Member[], raw: ReadonlyMap<string, T>, read: (member: $Member, raw: T) => unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const member of members) {
    const stored = raw.get(member.name);
    if (stored !== undefined) {
      const value = $in(member.name, () => read(member, stored));
      Object.defineProperty(out, member.name, { value, enumerable: true, configurable: true, writable: true });
    } else if (!member.optional) throw new ValueError(member.name, "is missing");
  }
  return out;
}

/** A JSON object with declared members; others are passed over. */
function $objectValue(...members: $Member[]): $Scalar {
  const encode = (value: unknown): string => {
    const parts: string[] = [];
    $each(members, value, ({ name, scalar }, given) => parts.push(`${JSON.stringify(name)}:${$toJSON(scalar, given)}`));
    return `{${parts.join(",")}}`;
  };
  const decode = (stored: string | Uint8Array | number): unknown => $gathered(members, $split($stored(stored)), ({ scalar }, raw) => $fromJSON(scalar, raw));
  return { form: "inline", encode, decode };
}

function $toJSON(scalar: $Scalar, value: unknown): string {
  const stored = scalar.encode(value);
  if (typeof stored !== "string") return `"${btoa(Array.from(stored, (b) => String.fromCharCode(b)).join(""))}"`;
  if (scalar.form === "bare" && stored.endsWith("inf")) return $bad("is infinite, which JSON cannot say");
  return scalar.form === "quoted" ? JSON.stringify(stored) : stored;
}

function $fromJSON(scalar: $Scalar, raw: string): unknown {
  if (scalar.form === "inline") return scalar.decode(raw);
  if (scalar.form === "bare") return /^["{[]/.test(raw) ? $bad("is a JSON text, object or list where a number or bool is declared") : scalar.decode(raw);
  const text = JSON.parse(raw) as unknown;
  if (typeof text !== "string") return $bad("is not a JSON text");
  return scalar.decode(scalar.form === "base64" ? $fromBase64(text) : text);
}

function $fromBase64(text: string): Uint8Array {
  const whole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
  return whole ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : $bad("is not base64");
}

/** The members of a JSON object as the JSON they are; null is absent. A number keeps all its digits. */
function $split(text: string): ReadonlyMap<string, string> {
  const parsed = $parsed(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) $bad("is not a JSON object");
  const out = new Map<string, string>();
  let depth = 0;
  let start = 0;
  let name: string | undefined;
  for (let i = text.indexOf("{"); i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const from = i;
      for (i++; text[i] !== '"'; i++) if (text[i] === "\\") i++;
      if (depth === 1) name ??= JSON.parse(text.slice(from, i + 1)) as string;
    } else if (c === "{" || c === "[") depth++;
    else if (c === ":" && depth === 1) start = i + 1;
    else if ((c === "," && depth === 1) || ((c === "}" || c === "]") && --depth === 0)) {
      const raw = text.slice(start, i).trim();
      if (name !== undefined && raw !== "null") out.set(name, raw);
      else if (name !== undefined) out.delete(name);
      name = undefined;
    }
  }
  return out;
}

/** The fields of a hash or of an entry of a stream. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $fieldsCodec(...members: $Member[]): FieldsCodec<any, any> {
  return {
    encode(value: unknown) {
      const parts: [string, string | Uint8Array][] = [];
      $each(members, value, ({ name, scalar }, given) => parts.push([name, scalar.encode(given)]));
      return Object.fromEntries(parts);
    },
    decode(fields) {
      const raw = new Map<string, string | Uint8Array>();
      if (Array.isArray(fields)) {
        const list = fields as readonly (string | Uint8Array)[];
        for (let i = 0; i + 1 < list.length; i += 2) raw.set($stored(list[i] ?? ""), list[i + 1] ?? "");
      } else for (const [name, stored] of Object.entries(fields)) raw.set(name, stored as string | Uint8Array);
      return $gathered(members, raw, ({ scalar }, stored) => scalar.decode(stored));
    },
  };
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $codec(scalar: $Scalar): Codec<any, any> {
  return Object.freeze({ encode: scalar.encode, decode: scalar.decode });
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $payloadCodec(scalar: $Scalar): PayloadCodec<any, any> {
  const decodeJob = (stored: string | Uint8Array): unknown => {
    if (typeof stored === "string") return scalar.decode(stored.slice(stored.indexOf("\n") + 1));
    return scalar.decode(stored.subarray(stored.indexOf(0x0a) + 1));
  };
  return Object.freeze({ ...$codec(scalar), decodeJob });
}

/** A score, which is a double to the server. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
function $scoreCodec(scalar: $Scalar): Codec<any, number> {
  const whole = (n: number): string => (Number.isInteger(n) && Math.abs(n) < 1e21 ? BigInt(n).toString() : String(n));
  return Object.freeze({
    encode: (value: unknown) => {
      const text = $stored(scalar.encode(value));
      const n = text.endsWith("inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);
      const large = typeof value === "bigint" && (value > 9007199254740992n || value < -9007199254740992n);
      return large ? $bad("is too large to be exact as a score") : n;
    },
    decode: (stored: string | Uint8Array | number) => {
      const text = $stored(stored);
      return scalar.decode(/inf/i.test(text) ? text : whole(Number(text)));
    },
  });
}

// Not every keyspace needs all of them.
void [$text, $bytes, $hex, $int, $words, $bool, $automaton, $dates, $place, $key, $channel, $expires];
void [$textValue, $matchedValue, $wordValue, $intValue, $floatValue, $boolValue, $bytesValue, $jsonValue, $unixValue, $timestampValue, $dateValue];
void [$member, $objectValue, $fieldsCodec, $codec, $payloadCodec, $scoreCodec];

