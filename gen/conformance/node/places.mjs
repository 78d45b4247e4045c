// Runs the program of a batch of declarations against a server:
//
//	node places.mjs PROGRAM.js MODE HOST:PORT
//
// Prints every difference and ends with 1 if there is one. In the mode "hear" it
// prints ready when it has subscribed, and ends when it has heard all.
import { connect } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

const [file, mode, address] = process.argv.slice(2);
const [host, port] = address.split(":");

/** Reads one reply that begins at from: its value and its end, or nothing if it is not all there. */
function reply(data, from) {
  const end = data.indexOf("\r\n", from);
  if (end < 0) return undefined;
  const line = data.toString("latin1", from + 1, end);
  const next = end + 2;
  const kind = String.fromCharCode(data[from]);
  if (kind === "-") return { value: new Error(line), end: next };
  if (kind === "$") {
    const size = Number(line);
    if (size < 0) return { value: null, end: next };
    return data.length < next + size + 2 ? undefined : { value: new Uint8Array(data.subarray(next, next + size)), end: next + size + 2 };
  }
  if (kind !== "*") return { value: line, end: next };
  const value = [];
  let at = next;
  for (let i = 0; i < Number(line); i++) {
    const element = reply(data, at);
    if (element === undefined) return undefined;
    value.push(element.value);
    at = element.end;
  }
  return { value, end: at };
}

/** A connection; take is called with each reply. */
async function dial(take) {
  const socket = connect({ host, port: Number(port), noDelay: true });
  await new Promise((ok, failed) => socket.once("connect", ok).once("error", failed));
  let data = Buffer.alloc(0);
  socket.on("data", (more) => {
    data = Buffer.concat([data, more]);
    for (let found = reply(data, 0); found !== undefined; found = reply(data, 0)) {
      data = data.subarray(found.end);
      take(found.value);
    }
  });
  const write = (parts) => {
    const all = [Buffer.from(`*${parts.length}\r\n`)];
    for (const part of parts) {
      const bytes = Buffer.from(part);
      all.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
    }
    socket.write(Buffer.concat(all));
  };
  return { write, end: () => socket.destroy() };
}

let failures = 0;
const waiting = [];
const commands = await dial((value) => waiting.shift()(value));
const expected = new Map();
let subscribed;
let heardAll;
const all = new Promise((ok) => (heardAll = ok));
const ears = await dial(([kind, channel, text]) => {
  if (Buffer.from(kind).toString() === "subscribe") return subscribed();
  const name = Buffer.from(channel).toString("latin1");
  attempt(() => expected.get(name)?.(text));
  expected.delete(name);
  if (expected.size === 0) heardAll();
});

function attempt(action) {
  try {
    action();
  } catch (error) {
    failures++;
    console.error(error);
  }
}

const server = {
  mode,
  async send(...command) {
    const value = await new Promise((ok) => {
      waiting.push(ok);
      commands.write(command);
    });
    if (value instanceof Error) throw value;
    return value;
  },
  same(what, got, want) {
    if (isDeepStrictEqual(got, want)) return;
    failures++;
    console.error(what, "got", got, "want", want);
  },
  async hear(_, channel, check) {
    expected.set(Buffer.from(channel).toString("latin1"), check);
    await new Promise((ok) => {
      subscribed = ok;
      ears.write(["SUBSCRIBE", channel]);
    });
  },
};

const { play } = await import(pathToFileURL(resolve(file)).href);
await play(server);
if (mode === "hear") {
  console.log("ready");
  if (expected.size > 0) await all;
}
commands.end();
ears.end();
process.exitCode = failures > 0 ? 1 : 0;
