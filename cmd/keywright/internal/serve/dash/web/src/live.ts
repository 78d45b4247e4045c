// Server-sent events: what has changed is fetched again. A lost stream is opened again, ever more slowly.
import { useEffect, useState } from "preact/hooks";
import type { Progress, Run, StateEvent } from "./api";
import { changed } from "./data";

export type Link = "connecting" | "live" | "away";

type Listener = () => void;
let link: Link = "connecting";
let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let tries = 0;
const listeners = new Set<Listener>();
const audits = new Map<string, Progress>(); // audits that run, by target
/** Told is the last word of a run, and when it was heard. */
export interface Told {
  run: Run;
  heard: number;
}
const runs = new Map<string, Told>();

function tell(next?: Link): void {
  if (next) link = next;
  for (const l of listeners) l();
}

function onState(e: MessageEvent<string>): void {
  const event = JSON.parse(e.data) as StateEvent;
  if (event.running) audits.set(event.target, event.running);
  else if (event.what.includes("audit")) audits.delete(event.target);
  tell();
  changed(event.target, event.what);
}

const finished = (r: Run): boolean => !["planning", "running", "stopping"].includes(r.state);

function onRun(e: MessageEvent<string>): void {
  const run = JSON.parse(e.data) as Run;
  runs.delete(run.id);
  runs.set(run.id, { run, heard: performance.now() });
  const oldest = runs.keys().next();
  if (runs.size > 200 && !oldest.done) runs.delete(oldest.value);
  tell();
  if (finished(run)) changed(run.target, ["runs", "dead"]);
}

/** open keeps a stream of events until close. */
export function open(): void {
  close();
  source = new EventSource("api/v1/events");
  source.addEventListener("open", () => {
    const before = link;
    tries = 0;
    audits.clear();
    runs.clear(); // there may have been others meanwhile
    tell("live");
    if (before === "away") changed(); // what happened meanwhile is not told
  });
  source.addEventListener("state", onState as (e: Event) => void);
  source.addEventListener("run", onRun as (e: Event) => void);
  source.addEventListener("error", () => {
    source?.close();
    tell("away");
    const wait = Math.min(30_000, 500 * 2 ** Math.min(tries++, 6)) * (0.75 + Math.random() / 2);
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  });
}

export function close(): void {
  clearTimeout(timer);
  source?.close();
  source = undefined;
}

function useTold<T>(read: () => T): T {
  const [, draw] = useState(0);
  useEffect(() => {
    const l = () => draw((n) => n + 1);
    listeners.add(l);
    return () => void listeners.delete(l);
  }, []);
  return read();
}

export const useLink = (): Link => useTold(() => link);

export const useAudit = (target: string): Progress | undefined => useTold(() => audits.get(target));

/** useRuns are the runs as they were told last. */
export const useRuns = (): ReadonlyMap<string, Told> => useTold(() => runs);

/** newer is a run as it was told, if that was after it was fetched: what was told before is older than the answer. */
export const newer = <T extends Run>(fetched: T, asked: number, told?: Told): T =>
  told && told.heard > asked ? { ...fetched, ...told.run } : fetched;

/** useNow is the time, every so many milliseconds. */
export function useNow(every = 15_000): number {
  const [now, set] = useState(() => Date.now());
  useEffect(() => {
    const t = setInterval(() => set(Date.now()), every);
    return () => clearInterval(t);
  }, [every]);
  return now;
}
