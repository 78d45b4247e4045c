// An agent of PoppoBuilder: it reads what daemons have put into poppo:task:runs, works
// on it as a process with a heartbeat, and says what came of it, once.
//
//	npm ci && npm run build
//	node build/worker.js --redis redis://localhost:6379 --namespace poppo --name agent1 -- claude -p
//
// A URL with a password is in POPPO_REDIS only, since any user of the machine sees arguments.
// What is after -- is run for each task, with the prompt on its standard input; what
// it prints is the answer. Keys and values are those of ../keyspace.yaml; what takes
// several keys in one step is done by the scripts that the daemon uses, too.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { inNamespace, type TaskRunsFields, type TaskOutcomeValue } from "./poppokeys.js";

/** How often a run may be begun: a prompt that kills each agent ends as a failure. */
const mostBegun = 5;

const { values: options, positionals: command } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: "string" },
    namespace: { type: "string", default: process.env["POPPO_NAMESPACE"] ?? "poppo" },
    name: { type: "string", default: "agent" },
    heartbeat: { type: "string", default: "1800000" }, // ms without a sign after which a process is dead
    takeover: { type: "string", default: "60000" }, // ms without a sign after which another agent takes a run over
  },
});
if (command.length === 0 || !/^[a-z][a-z0-9]*$/.test(options.name)) {
  console.error("usage: worker.js [--redis URL] [--namespace NAME] [--name LETTERS] -- COMMAND …");
  process.exit(2);
}
if (options.redis !== undefined && /^[^?]*:[^?]*@|password/i.test(options.redis.replace(/^[^/]*:\/\//, ""))) {
  console.error("--redis has a password, which any user of the machine can see: put the URL into POPPO_REDIS");
  process.exit(2);
}
const url = options.redis ?? process.env["POPPO_REDIS"] ?? "redis://127.0.0.1:6379";
if (!URL.canParse(url)) { // ioredis shows the URL, which may have a password
  console.error("the URL of Redis cannot be read: write redis://host:port");
  process.exit(2);
}
const heartbeat = Number(options.heartbeat);
const takeover = Number(options.takeover);
const keys = inNamespace(options.namespace);
const group = keys.taskRuns.groups?.[0] ?? "";
const consumer = `${options.name}-${process.pid}`;

/** A script of ../scripts; ioredis sends its digest, and its text where the server does not know it. */
function script(name: string, numberOfKeys: number): { lua: string; numberOfKeys: number } {
  return { lua: readFileSync(new URL(`../../scripts/${name}.lua`, import.meta.url), "utf8"), numberOfKeys };
}

type Reply = string | number | null;
interface Scripts {
  registerProcess(...args: (string | number)[]): Promise<Reply>;
  beatProcess(...args: (string | number)[]): Promise<Reply>;
  endProcess(...args: (string | number)[]): Promise<Reply>;
  keepRun(...args: (string | number)[]): Promise<Reply>;
  finishRun(...args: (string | number)[]): Promise<Reply>;
}
const redis = new Redis(url, {
  maxRetriesPerRequest: null,
  enableReadyCheck: false, // it asks INFO, which an agent may not, no more than CLIENT SETINFO
  disableClientInfo: true,
  scripts: {
    registerProcess: script("register_process", 4),
    beatProcess: script("beat_process", 3),
    endProcess: script("end_process", 4),
    keepRun: script("keep_run", 1),
    finishRun: script("finish_run", 3),
  },
}) as Redis & Scripts;
const reader = redis.duplicate(); // XREADGROUP blocks its connection
for (const connection of [redis, reader]) {
  connection.on("error", (error: Error) => console.error(`redis: ${error.message}`));
}

let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopping = true;
    reader.disconnect(); // a read that waits ends
  });
}

/** Looks at the flag for debugging, and says what happens if it is set. */
let debugging = false;
async function lookAtFlag(): Promise<void> {
  const set = await redis.get(keys.flagDebug.key());
  debugging = set !== null && keys.flagDebug.value.decode(set);
}
function debug(what: string): void {
  if (debugging) console.error(`${new Date().toISOString()} DEBUG ${options.name}: ${what}`);
}

/** One run: the entry of the stream, and what is in it. */
interface Run {
  readonly entry: string;
  readonly task: TaskRunsFields;
}

type Entries = [id: string, fields: string[] | null][];
type Pending = [id: string, consumer: string, idle: number, begun: number][];

/** A run that its agent has left, else a new one; undefined after a while without any. */
async function next(): Promise<Run | undefined> {
  const runs = keys.taskRuns.key();
  const [, left] = (await redis.xautoclaim(runs, group, consumer, takeover, "0", "COUNT", 1)) as [string, Entries];
  let entries = left;
  const again = entries.length > 0;
  if (!again) {
    const block = Math.min(takeover, 5000);
    const read = (await reader.xreadgroup(
      "GROUP", group, consumer, "COUNT", 1, "BLOCK", block, "STREAMS", runs, ">",
    )) as [string, Entries][] | null;
    entries = read?.[0]?.[1] ?? [];
  }
  const [entry, fields] = entries[0] ?? [];
  if (entry === undefined || fields === undefined || fields === null) return undefined;
  if (again) {
    const pending = (await redis.xpending(keys.taskRuns.key(), group, entry, entry, 1)) as Pending;
    const begun = pending[0]?.[3] ?? 0;
    debug(`takes over ${entry}, begun ${begun} times`);
    if (begun > mostBegun) return refuse(entry, fields, `given up: ${begun - 1} agents ended in the middle of it`);
  }
  try {
    return { entry, task: keys.taskRuns.fields.decode(fields) };
  } catch (error) {
    return refuse(entry, fields, `the run cannot be read: ${String(error)}`);
  }
}

/** Ends a run that cannot be worked on, so that no caller waits for it. */
async function refuse(entry: string, fields: string[], why: string): Promise<undefined> {
  console.error(`${entry}: ${why}`);
  const value = (name: string): string =>
    fields[fields.findIndex((field, i) => i % 2 === 0 && field === name) + 1] ?? "";
  const issue = /^[1-9][0-9]*$/.test(value("issue")) ? value("issue") : "1";
  if (!/^task-[1-9][0-9]*$/.test(value("task"))) { // no task waits for it
    await redis.xack(keys.taskRuns.key(), group, entry);
    return undefined;
  }
  await end(entry, value("task"), { ok: false, text: why, ms: 0, by: `issue-${issue}-${options.name}` });
  return undefined;
}

/** Writes an outcome, the end of its run and the event; the first outcome counts. */
async function end(entry: string, task: string, outcome: TaskOutcomeValue): Promise<void> {
  const db = redis.options.db ?? 0;
  const event = keys.taskDoneChannel.message.encode({ timestamp: new Date(), data: { task, ok: outcome.ok }, db });
  const first = await redis.finishRun(
    keys.taskOutcome.key({ task }), keys.taskRun.key({ task }), keys.taskRuns.key(),
    group, entry, keys.taskOutcome.value.encode(outcome), keys.taskOutcome.ttl.px(),
    keys.taskDoneChannel.channel(), event,
  );
  debug(`${task} ended, ok ${outcome.ok}${first === 1 ? "" : "; another outcome was first"}`);
}

/**
 * The command, with a guard beside it that kills its process group when this agent ends
 * in whatever way: then the third descriptor is closed. No two commands work on one run.
 */
const guarded = '(cat <&3; kill -9 -$$) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** Runs the command, until it ends, or limit milliseconds are over, or signal says so. */
function execute(prompt: string, limit: number, signal: AbortSignal): Promise<{ ok: boolean; text: string }> {
  return new Promise((resolve) => {
    const stdio = ["pipe", "pipe", "inherit", "pipe"] as const;
    const child = spawn("sh", ["-c", guarded, "sh", ...command], { stdio: [...stdio], detached: true });
    // alive is open for as long as this agent is there
    const [stdin, stdout, , alive] = child.stdio as unknown as [Writable, Readable, null, Writable];
    const kill = (): void => {
      // and what it has started
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    };
    const timer = setTimeout(kill, limit);
    signal.addEventListener("abort", kill);
    let text = "";
    stdout.setEncoding("utf8").on("data", (part: string) => {
      if (text.length < 100_000) text += part; // what is longer is cut
    });
    child.on("error", (error) => resolve({ ok: false, text: error.message }));
    child.on("exit", () => alive.destroy()); // what it has left ends, too
    child.on("close", (code, killed) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      resolve({ ok: code === 0, text: killed === null ? text.trim() : `ended by ${killed}` });
    });
    for (const pipe of [stdin, alive]) pipe.on("error", () => undefined); // it need not read the prompt
    stdin.end(prompt);
  });
}

/** Works on one run as a process that others can see. */
async function work({ entry, task }: Run): Promise<void> {
  const id = `issue-${task.issue}-${options.name}`;
  const instance = randomUUID();
  const self = { number: task.issue, who: options.name };
  const info = keys.processInfo.key(self);
  const beats = keys.processHeartbeat.key(self);
  const active = keys.processesActive.key();
  const zombies = keys.processesZombies.key();
  await redis.registerProcess(
    info, beats, active, zombies,
    id, instance, "agent", String(task.issue), task.task, String(task.fence), heartbeat,
  );
  await lookAtFlag();
  debug(`works on ${task.task} of issue ${task.issue}`);
  const dead = new AbortController();
  const sign = async (): Promise<void> => {
    const alive = await redis.beatProcess(info, beats, active, id, instance, heartbeat);
    const ours = await redis.keepRun(keys.taskRuns.key(), group, consumer, entry);
    await lookAtFlag();
    debug(`a sign of life of ${id}`);
    if (alive !== 1 || ours !== 1) dead.abort(new Error("found dead, or the run is another agent's"));
  };
  const failed = (error: unknown): void => console.error(`a sign of life: ${String(error)}`);
  const timer = setInterval(() => sign().catch(failed), Math.min(heartbeat, takeover) / 3);
  try {
    const set = await redis.get(keys.configClaudeTimeout.key());
    const limit = 1000 * (set === null ? 300 : Number(keys.configClaudeTimeout.value.decode(set)));
    const began = Date.now();
    const said = await execute(task.prompt, limit, dead.signal);
    if (dead.signal.aborted) {
      debug(`${task.task} is another agent's by now`);
      return;
    }
    await end(entry, task.task, { ...said, ms: Date.now() - began, by: id });
  } finally {
    clearInterval(timer);
    await redis.endProcess(info, beats, active, zombies, id, instance);
  }
}

/** Makes the consumer group, at first and after the stream was lost. */
async function join(): Promise<void> {
  try {
    await redis.xgroup("CREATE", keys.taskRuns.key(), group, "0", "MKSTREAM");
  } catch (error) {
    if (!String(error).includes("BUSYGROUP")) throw error;
  }
}

async function main(): Promise<void> {
  await join();
  console.log(`${consumer} in ${options.namespace}`);
  while (!stopping) {
    try {
      const run = await next();
      if (run !== undefined) await work(run);
    } catch (error) {
      if (stopping) break;
      console.error(String(error));
      if (String(error).includes("NOGROUP")) await join().catch(() => undefined); // the next round says why
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  await redis.quit();
}

await main();
