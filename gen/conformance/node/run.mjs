// Runs the vectors of keyspaces against the modules that were generated from
// them, compiled to JavaScript:
//
//	node run.mjs MODULE.js VECTORS.json …
//
// Prints every difference and ends with 1 if there is one.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";

const integers = new Set(["int", "unix_s", "unix_ms"]);
let generated; // the module under test
let checks = 0;
let failures = 0;

function check(ok, ...what) {
  checks++;
  if (ok) return;
  failures++;
  if (failures <= 50) console.error(...what);
}

const unhex = ({ hex }) => Uint8Array.from(Buffer.from(hex, "hex"));
const bytes = (b) => (typeof b === "string" ? new TextEncoder().encode(b) : unhex(b));

/** The value of a placeholder as a program has it in hand. */
function value(v, kind) {
  if (kind === "bytes") return unhex(v);
  return integers.has(kind) && typeof v === "string" ? BigInt(v) : v;
}

/** The values as the argument of key(). */
function argument(item, subject, params) {
  return Object.fromEntries(params.map((v, i) => [item.placeholders[i].property, value(v, subject.placeholders[i].kind)]));
}

/** Bytes of another realm, as test runners make them: not instanceof Uint8Array here. */
const abroad = runInNewContext("(bytes) => Uint8Array.from(bytes)");

function attempt(action) {
  try {
    return { result: action() };
  } catch (error) {
    return { error };
  }
}

/** Whatever a careless program may pass, by the type that is wanted. */
const wrong = {
  number: [undefined, null, "", "1", "x", 1.5, NaN, Infinity, -0, 2 ** 53, true, {}, [], [1], Symbol("1"), () => 1, new Date(0), Object(1)],
  boolean: [undefined, null, "true", 0, 1, {}, Object(true)],
  bytes: [undefined, null, "abc", 1, [97], { length: 1 }, new ArrayBuffer(1), new Uint16Array(1)],
  string: [undefined, null, 1, 1n, true, {}, ["abc"], Object("abc"), "\ud800", "a\udc00b", "\ude00\ud83d", Symbol("abc"), Buffer.from("abc")],
};

// A moment may be a Date, but not an invalid one.
wrong.moment = wrong.number.map((bad) => (bad instanceof Date ? new Date(NaN) : bad));

function wanted(kind) {
  if (kind === "unix_s" || kind === "unix_ms") return "moment";
  if (integers.has(kind)) return "number";
  return { bool: "boolean", bytes: "bytes" }[kind] ?? "string";
}

function metadata(item, subject, glob) {
  check(item.name === subject.name && item.pattern === subject.pattern, subject.name, "metadata", item.name, item.pattern);
  check(isDeepStrictEqual(bytes(subject.glob), typeof glob === "string" ? bytes(glob) : glob), subject.name, "glob", glob);
  check(isDeepStrictEqual(item.placeholders.map((p) => [p.name, p.type]), subject.placeholders.map((p) => [p.name, p.type])), subject.name, "placeholders", item.placeholders);
  if (subject.ttl === undefined) return;
  check(item.type === subject.type && item.construct === (subject.construct ?? ""), subject.name, "type", item.type, item.construct);
  check(item.ttl.policy === subject.ttl.policy, subject.name, "ttl", item.ttl);
  if (subject.ttl.policy === "expires") lifetimes(item.ttl, subject);
}

function lifetimes(ttl, { name, ttl: want }) {
  for (const property of Object.keys(want)) check(ttl[property] === want[property], name, property, ttl[property], want[property]);
  for (const chance of [0, 0.5, 1 - 2 ** -53]) {
    const ms = ttl.px(undefined, () => chance);
    check(Number.isInteger(ms) && ms >= Math.floor(want.defaultMs * (1 - want.jitter)) && ms <= want.defaultMs * (1 + want.jitter), name, "px", ms);
  }
  check(isDeepStrictEqual(ttl.args(want.maxMs, () => 0.5), ["PX", want.maxMs]) && isDeepStrictEqual(ttl.options(want.minMs, () => 0.5), { PX: want.minMs }), name, "args", ttl.args());
  for (const ms of [want.minMs - 1, want.maxMs + 1, NaN]) check(attempt(() => ttl.px(ms)).error instanceof RangeError, name, "px takes", ms);
}

function run(item, subject, build, glob) {
  metadata(item, subject, glob);
  for (const { params, key } of [...subject.build, ...subject.parse]) {
    const given = argument(item, subject, params);
    const { result, error } = attempt(() => build(given));
    const text = typeof key === "string" && typeof result === "string";
    check(result !== undefined && (text ? result === key : isDeepStrictEqual(Uint8Array.from(result), bytes(key))), subject.name, "build", params, "gives", result ?? error, "not", key);
    for (const form of [bytes(key), Buffer.from(bytes(key)), abroad(bytes(key)), ...(typeof key === "string" ? [key] : [])]) {
      const read = attempt(() => item.parse(form));
      check(isDeepStrictEqual(read.result, given), subject.name, "parse", key, "gives", read.result ?? read.error, "not", given);
    }
  }
  for (const { params, placeholder, reason } of subject.rejectBuild) {
    const { result, error } = attempt(() => build(argument(item, subject, params)));
    check(error instanceof generated.KeyError && error.placeholder === placeholder && error.reason === reason && error.key === subject.name,
      subject.name, "build", params, "gives", result ?? error, "not a refusal of", placeholder, reason);
  }
  for (const key of [...subject.rejectParse, ...subject.notText]) {
    for (const form of [bytes(key), ...(typeof key === "string" ? [key] : [])]) {
      const { result, error } = attempt(() => item.parse(form));
      check(result === undefined && error === undefined, subject.name, "parse", key, "gives", result ?? error);
    }
  }
  check(attempt(() => item.parse("\ud800")).result === undefined, subject.name, "parses half a surrogate pair");
  for (const bad of [undefined, null, 1, [97], {}]) check(attempt(() => item.parse(bad)).error instanceof TypeError, subject.name, "parses", bad);
  careless(item, subject, build);
  huge(item, subject, build);
}

/** A number of 5,000 digits, where a number may have any length. */
function huge(item, subject, build) {
  for (const [i, { name, type }] of subject.placeholders.entries()) {
    if (!/^int( \S+\.\.)?$/.test(type)) continue;
    const given = { ...argument(item, subject, subject.build[0].params), [item.placeholders[i].property]: 10n ** 5000n + 7n };
    const { result, error } = attempt(() => item.parse(build(given)));
    check(isDeepStrictEqual(result, given), subject.name, "does not hold 5,000 digits for", name, error);
  }
}

/** Values of the wrong type, one at a time in place of a right one. */
function careless(item, subject, build) {
  const good = subject.build[0];
  if (good === undefined) return;
  for (const [i, { name, kind, default: left }] of subject.placeholders.entries()) {
    for (const bad of wrong[wanted(kind)]) {
      if (bad === undefined && left !== undefined) continue; // left out
      const { result, error } = attempt(() => build({ ...argument(item, subject, good.params), [item.placeholders[i].property]: bad }));
      check(error instanceof generated.KeyError && error.placeholder === name, subject.name, "takes", typeof bad, "for", name, result ?? error);
    }
  }
}

async function compare(moduleFile, vectorFile) {
  generated = await import(pathToFileURL(resolve(moduleFile)).href);
  const vectors = JSON.parse(readFileSync(vectorFile, "utf8"));
  check(generated.allKeys.size === vectors.keys.length && generated.allChannels.size === vectors.channels.length, vectorFile, "not the same keys and channels");
  for (const subject of vectors.keys) {
    const item = generated.allKeys.get(subject.name);
    run(item, subject, (params) => item.key(params), item.scanPattern);
  }
  for (const subject of vectors.channels) {
    const item = generated.allChannels.get(subject.name);
    run(item, subject, (params) => item.channel(params), item.subscribePattern);
  }
}

for (let files = process.argv.slice(2); files.length > 0; files = files.slice(2)) await compare(files[0], files[1]);
console.log(`${checks} checks, ${failures} failures`);
process.exit(failures === 0 && checks > 0 ? 0 : 1);
