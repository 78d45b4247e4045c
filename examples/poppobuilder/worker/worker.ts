// An agent of PoppoBuilder: it reads what daemons have put into poppo:task:runs, works
// on it as a process with a heartbeat, and says what came of it, once.
//
//	npm ci && npm run build
//	node build/worker.js --redis redis://localhost:6379 --namespace poppo --name agent1 -- claude -p
//
// What is after -- is run for each task, with the prompt on its standard input; what
// it prints is the answer. Keys and values are those of ../keyspace.yaml; what takes
// several keys in one step is done by the scripts that the daemon uses, too.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { inNamespace, type TaskRunsFields, type TaskOutcomeValue } from "./poppokeys.js";

const { values: options, positionals: command } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: "string", default: process.env["POPPO_REDIS"] ?? "redis://127.0.0.1:6379" },
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
  finishRun(...args: (string | number)[]): Promise<Reply>;
}
const redis = new Redis(options.redis, {
  maxRetriesPerRequest: null,
  scripts: {
    registerProcess: script("register_process", 4),
    beatProcess: script("beat_process", 3),
    endProcess: script("end_process", 4),
    finishRun: script("finish_run", 3),
  },
}) as Redis & Scripts;
const reader = redis.duplicate(); // XREADGROUP blocks its connection
for (const connection of [redis, reader]) connection.on("error", (error: Error) => console.error(`redis: ${error.message}`));

let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopping = true;
    reader.disconnect(); // a read that waits ends
  });
}

/** One run: the entry of the stream, and what is in it. */
interface Run {
  readonly entry: string;
  readonly task: TaskRunsFields;
}

type Entries = [id: string, fields: string[] | null][];

/** A run that its agent has left, else a new one; undefined after a while without any. */
async function next(): Promise<Run | undefined> {
  const [, left] = (await redis.xautoclaim(keys.taskRuns.key(), group, consumer, takeover, "0", "COUNT", 1)) as [string, Entries];
  let entries = left;
  if (entries.length === 0) {
    const block = Math.min(takeover, 5000);
    const read = (await reader.xreadgroup("GROUP", group, consumer, "COUNT", 1, "BLOCK", block, "STREAMS", keys.taskRuns.key(), ">")) as [string, Entries][] | null;
    entries = read?.[0]?.[1] ?? [];
  }
  const [entry, fields] = entries[0] ?? [];
  if (entry === undefined || fields === undefined || fields === null) return undefined;
  try {
    return { entry, task: keys.taskRuns.fields.decode(fields) };
  } catch (error) {
    console.error(`an entry of task_runs cannot be read: ${String(error)}`);
    return undefined; // it stays pending, for a newer agent
  }
}

/** Runs the command, until it ends, or limit milliseconds are over, or signal says so. */
function execute(prompt: string, limit: number, signal: AbortSignal): Promise<{ ok: boolean; text: string }> {
  return new Promise((resolve) => {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    const kill = (): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL"); // and what it has started
    };
    const timer = setTimeout(kill, limit);
    signal.addEventListener("abort", kill);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      if (text.length < 100_000) text += part; // what is longer is cut
    });
    child.on("error", (error) => resolve({ ok: false, text: error.message }));
    child.on("close", (code, killed) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      resolve({ ok: code === 0, text: killed === null ? text.trim() : `ended by ${killed}` });
    });
    child.stdin.on("error", () => undefined); // it need not read the prompt
    child.stdin.end(prompt);
  });
}

/** Works on one run as a process that others can see. */
async function work({ entry, task }: Run): Promise<void> {
  const id = `issue-${task.issue}-${options.name}`;
  const instance = randomUUID();
  const process = { process: id };
  const info = keys.processInfo.key(process);
  const beats = keys.processHeartbeat.key(process);
  const active = keys.processesActive.key();
  const zombies = keys.processesZombies.key();
  await redis.registerProcess(info, beats, active, zombies, id, instance, "agent", String(task.issue), task.task, String(task.fence), heartbeat);
  const dead = new AbortController();
  const sign = async (): Promise<void> => {
    const alive = await redis.beatProcess(info, beats, active, id, instance, heartbeat);
    await redis.xclaim(keys.taskRuns.key(), group, consumer, 0, entry, "JUSTID"); // and this run is still ours
    if (alive !== 1) dead.abort(new Error("found dead"));
  };
  const timer = setInterval(() => sign().catch((error: unknown) => console.error(`a sign of life: ${String(error)}`)), Math.min(heartbeat, takeover) / 3);
  try {
    const set = await redis.get(keys.configClaudeTimeout.key());
    const limit = 1000 * (set === null ? 300 : Number(keys.configClaudeTimeout.value.decode(set)));
    const began = Date.now();
    const said = await execute(task.prompt, limit, dead.signal);
    if (dead.signal.aborted) return; // another one has it by now
    const outcome: TaskOutcomeValue = { ...said, ms: Date.now() - began, by: id };
    const event = keys.otherEventsChannel.message.encode({ timestamp: new Date(), data: { data: { task: task.task, ok: said.ok } }, db: redis.options.db ?? 0 });
    await redis.finishRun(
      keys.taskOutcome.key({ task: task.task }), keys.taskRun.key({ task: task.task }), keys.taskRuns.key(),
      group, entry, keys.taskOutcome.value.encode(outcome), keys.taskOutcome.ttl.px(), keys.otherEventsChannel.channel({ eventType: "task-done" }), event,
    );
  } finally {
    clearInterval(timer);
    await redis.endProcess(info, beats, active, zombies, id, instance);
  }
}

async function main(): Promise<void> {
  try {
    await redis.xgroup("CREATE", keys.taskRuns.key(), group, "0", "MKSTREAM");
  } catch (error) {
    if (!String(error).includes("BUSYGROUP")) throw error;
  }
  console.log(`${consumer} in ${options.namespace}`);
  while (!stopping) {
    try {
      const run = await next();
      if (run !== undefined) await work(run);
    } catch (error) {
      if (stopping) break;
      console.error(String(error));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  await redis.quit();
}

await main();
