// The answers of the API, version 1, as the server sends them.

/** A key, or another name of any bytes: where base64 is there, text is for people only. */
export interface Key {
  text: string;
  base64?: string;
}

/** What every answer of measured data says of itself. */
export interface Measured {
  at?: string; // when it was read; absent: it never was
  every_seconds?: number; // from one reading to the next; 0: it is read once
  stale?: boolean;
  partial?: string; // why it is not all
  failed?: { at: string; what: string }; // the latest attempt, where it failed
  running?: Progress; // the audit that is under way
}

export interface Progress {
  since: string;
  keys: number;
  expected: number; // 0: not known
  paused?: boolean;
}

export interface List<T> extends Measured {
  items: T[];
  total: number;
  cut: boolean;
  cursor?: string; // of the following part
  unread?: { entry: string; key?: Key; why: string }[]; // what could not be read; without a key all of the entry
  untimed?: number; // locks of which the time left was not read
}

/** What is other in an answer than in the one that the page has: [from, to] are rows that it has there. */
export interface Newer {
  rows: Record<string, (object | [number, number])[]>;
  rest: object;
}

export interface Failure {
  code: string;
  message: string;
  hint?: string;
}

export interface Me {
  user: string;
  role: "viewer" | "operator";
  allow_apply: boolean;
  show_values: boolean; // this user may look at values of keys
  session: boolean;
  csrf: string;
  version: string;
}

export type TargetState = "starting" | "ok" | "stale" | "away" | "partial" | "snapshot" | "broken";

export interface Target extends Measured {
  id: string;
  name: string;
  declaration: string;
  kind: "server" | "snapshot";
  state: TargetState;
  why?: string; // the state is not ok
  labels?: Record<string, string>;
  keys: number;
  bytes: number;
  violations: number;
  errors: number;
}

export type JobState = "idle" | "running" | "waiting" | "failed";

/** Job is something that the janitor does again and again. */
export interface Job {
  target: string;
  name: string;
  doc?: string;
  do: string;
  when: string;
  state: JobState;
  next?: string;
  since?: string;
  reason?: string;
  why?: string;
  last_run?: string;
  last_good?: string;
  did?: string;
  elsewhere: boolean;
  runs: number;
  failed: number;
  failures: number;
}

/** Step is a step of a part of a migration to another phase, and what it needs. */
export interface Step {
  to: string;
  gates: { gate: string; open: boolean; has?: string; want?: string }[];
}

/** Move is a part of a migration, and where it is. */
export interface Move {
  migration: string;
  part: string;
  phase: string; // "": nothing of it is on this machine
  authority: string;
  epoch: number;
  since?: string;
  changing?: boolean;
  marks: number;
  oldest_mark_seconds?: number;
  compared: number;
  unequal: number;
  forward?: Step;
  back?: Step;
  processes: { id: string; pid: number; at: string; live: boolean; confirmed: number }[];
  unfit?: string[];
}

export type RowKind = "entry" | "legacy" | "undeclared" | "foreign";
export type Severity = "error" | "warning" | "note";

export interface EntryRow {
  kind: RowKind;
  name: string;
  entry?: string; // that declares it
  group: string; // the words that its pattern begins with, but the last: harca:memory
  pattern?: string;
  type?: string;
  construct?: string;
  owner?: string;
  ttl?: string; // as declared
  keys: number;
  bytes: number;
  no_ttl: number;
  violations: number;
  codes: Record<string, number>; // violations, by rule
  errors: number; // of the violations, those of rules that are errors
}

export interface Changed {
  entry: string; // the name of its row
  keys_delta: number;
  bytes_delta: number;
  new_codes: string[];
  gone_codes: string[];
}

export interface CodeCount {
  code: string;
  title: string; // of the rule
  severity: Severity;
  findings: number;
  keys: number;
  entries: number;
}

export interface Totals {
  keys: number;
  bytes: number;
  no_ttl: number;
  undeclared: number;
  undeclared_bytes: number;
  foreign: number;
  foreign_bytes: number;
  violations: number;
}

export interface Scope {
  server: string;
  endpoint: string;
  shards: number;
  databases: number;
  seconds: number;
  sampled: boolean;
  estimated_bytes: boolean;
  notes: string[];
}

export interface Overview extends Measured {
  target: Target;
  keyspace: { name: string; doc?: string; owner?: string; file: string };
  totals: Totals;
  entries: EntryRow[];
  changed: Changed[];
  since?: string; // with what it is compared; absent: there is nothing older
  keys_delta: number; // of all, since then
  bytes_delta: number;
  findings: CodeCount[];
  report?: Scope;
  history_error?: string; // why history could not be written
  has: Record<string, boolean>; // which pages have something to show
}

export interface Spread {
  min: number;
  p50: number;
  p90: number;
  max: number;
}

/** Keys above `from` and up to `to`; absent: without an end. */
export interface Bucket {
  from: number;
  to?: number;
  keys: number;
}

export interface LargeKey {
  key: Key;
  db: number;
  type: string;
  bytes: number;
  entry?: string;
  ttl?: number;
}

export interface Finding {
  code: string;
  severity: Severity;
  message: string;
  fix: string;
  entry?: string;
  file?: string;
  line?: number;
  count?: number;
  examples?: { db: number; key: Key }[];
  fingerprint: string;
}

export interface EntryKey {
  name: string;
  pattern: string;
  type: string;
  ttl: string;
  derived: boolean;
  example: string;
  doc?: string;
}

export interface Offending {
  code: string;
  name: string; // of the rule
  total: number;
  keys: { code: string; db: number; key: Key }[];
  cut: boolean;
}

/** One key of an entry, and what there is of it. */
export interface KeyPage {
  row: EntryRow;
  ttl?: Spread;
  ttl_buckets: Bucket[]; // seconds that are left
  size_buckets: Bucket[]; // bytes
  unsized: number;
  largest: LargeKey[];
  offending: Offending[];
}

export interface Entry extends Measured {
  name: string;
  type: string;
  construct?: string;
  doc?: string;
  file: string;
  line: number;
  declaration: string; // YAML, as it is written in the file
  owner?: string;
  readers?: string[];
  writers: string[];
  keys: EntryKey[];
  ttl_by?: string[];
  stamps?: string[];
  channels?: string[];
  deleted_by?: string[];
  was?: string[];
  script?: string;
  counts: { keys: number; bytes: number; share: number; no_ttl: number };
  findings: Finding[];
  parts: KeyPage[]; // its keys, the main one first
}

export interface History {
  step: string;
  series: { name: string; points: [number, number][] }[]; // seconds since 1970, value
}

export interface Explained extends Measured {
  key: Key;
  status: "declared" | "legacy" | "foreign" | "owned" | "undeclared";
  entry?: string;
  glob?: string;
  pattern?: string;
  captures?: { name: string; value: Key; type: string }[];
  type?: string;
  ttl?: string;
  owner?: string;
  doc?: string;
  near?: { entry: string; pattern: string }[];
  slot: number;
  live?: {
    exists: boolean;
    node: string;
    type?: string;
    encoding?: string;
    ttl_seconds: number | null;
    bytes: number | null;
  };
  wrong?: string[];
}

/** A text of any bytes: where base64 is there, text is for people only. */
export interface Bytes extends Key {
  length: number; // bytes of all
  cut?: boolean; // this is the beginning
  sealed?: boolean; // it is not shown
}

/** The value of a key, as far as it may be shown. */
export interface Value {
  exists: boolean;
  type?: string;
  size: number; // elements; bytes of a string
  elements: { name?: Bytes; score?: string; value?: Bytes; fields?: { name: Bytes; value: Bytes }[]; of?: number }[];
  hidden?: "sealed" | "lock" | "type"; // why nothing of it is shown
  sealed: number;
  cut?: string; // what is missing
  touched: boolean; // the key's idle time began again
  at: string;
}

export interface UndeclaredGroup {
  pattern: string;
  types: Record<string, number>; // keys, by Redis type
  software?: string; // whose keys these are, by the looks of them
  proposal: string; // YAML that would declare them
  examples: Key[];
  near?: { entry: string; pattern: string }; // what may have been meant
  keys: number;
  bytes: number;
  no_ttl: number;
}

export interface Undeclared extends List<UndeclaredGroup> {
  others: { keys: number; bytes: number; why: string[] };
  keys: number; // of all, groups and others
  bytes: number;
}

export interface Lane {
  lane?: string;
  jobs: number;
  oldest_seconds?: number;
}

export interface Queue {
  entry: string;
  queue?: Key; // the placeholders that tell it from others of the entry
  instance: string; // as it is written in a path; "-" where there is only one
  paused: boolean;
  jobs: number;
  waiting: number;
  lanes: Lane[];
  running: number;
  zombies: number;
  delayed: number;
  dead: number;
  oldest_seconds: number;
  workers: Key[];
  dead_workers?: Key[];
  growth?: { over_seconds: number; open: number; dead: number; came?: number; left?: number }; // absent: not known yet, there is one reading
}

/** How far a search for dead jobs is: it looks at all of them. */
export interface Looked {
  looked_at: number; // dead jobs, so far
  looked_since: string;
  searching: boolean; // not all were looked at yet
}

export interface DeadJobs extends List<DeadJob>, Looked {}

/** One queue, and its dead jobs by error. */
export interface QueueDetail extends Measured, Looked {
  errors: { error: string; jobs: number }[];
  other_errors: number; // dead jobs with other errors
}

/** A job that is not dead. */
export interface QueueJob {
  id: Key;
  lane?: string;
  at?: string; // until when its lease lasts, or when it is due
}

/** Something that is wrong now. */
export interface NowItem {
  id: string;
  kind: string;
  target: string;
  entry?: string;
  code?: string;
  count?: number;
  text: string;
  next?: string;
  page?: string[]; // the page that shows it
  since: string;
  silenced: boolean;
}

export interface NowList extends List<NowItem> {
  quiet: boolean;
  left_out: number;
  starting: string[];
  not_known: { target: string; part: string; why: string }[]; // why it is not quiet although nothing is known to be wrong
}

export interface DeadJob {
  id: Key;
  reason: string;
  attempts: number;
  crashes: number;
  at?: string;
}

export interface Lock {
  entry: string;
  key: Key;
  holder?: Key;
  held_seconds?: number;
  lease_left_seconds?: number;
  fence?: number;
  waiting: number;
  sharing: number;
}

export interface EntityRow {
  entry: string;
  of?: Key;
  items: number;
  expired: number;
  late_seconds?: number;
  sweeper?: Key;
}

export interface Stream {
  entry: string;
  key: Key;
  length: number;
  last_id: string;
  groups: { name: Key; consumers: number; pending: number; last_delivered_id: string; lag: number | null }[];
}

export interface CacheRow {
  entry: string;
  pattern: string;
  keys: number;
  bytes: number;
  no_ttl: number;
  ttl?: Spread;
  deleted_by: string[]; // events
}

export interface Ranking {
  entry: string;
  key: Key;
  members: number;
  first?: { rank: number; member: Key; score?: number; infinite?: string };
  expires_in_seconds?: number;
}

export interface Server extends Measured {
  facts: { name: string; value: string }[];
  advice: { level: "danger" | "warning" | "note"; what: string; why: string; fix: string }[];
  not_known?: { name: string; value: string }[]; // what could not be looked at, and why
  report?: Scope;
  shards?: {
    address: string;
    role: string;
    version: string;
    keys?: number;
    away?: string; // why it does not answer: then its figures are not known
    memory?: number; // absent: the server does not tell
    max_memory?: number; // 0: no limit
    clients?: number;
    ops?: number; // commands in a second
    replicas?: number; // in step
    replicas_expected?: number;
  }[];
}

export type RunState = "planning" | "planned" | "refused" | "running" | "stopping" | "stopped" | "interrupted" | "done" | "failed";

export interface Run {
  id: string;
  target: string;
  verb: string;
  state: RunState;
  title: string; // "queues retry tasks"
  by?: string;
  at: string;
  ended?: string;
  done: number;
  total: number;
  problem?: string;
  hint?: string;
}

export interface LeftAlone {
  code: string;
  what: string;
  fix?: string;
  keys: number;
}

export interface Plan extends Run {
  select?: Record<string, string>; // what is meant, as it was asked for
  change: number; // things that would be changed
  leave: number;
  entries: { entry: string; keys: number; change: number; leave: number; bytes: number; examples?: { db: number; key: Key }[] }[];
  more_entries: number;
  refusals: LeftAlone[];
  incomplete: { code: string; what: string; fix?: string }[];
  changes: { verb: string; key: Key; db: number; before?: string; after?: string }[]; // the first that it lists
  listed: number;
  did?: { keys: number; changed: number; gone: number; left_alone: number; refused: number; unknown: number }; // once it ran
  did_left: LeftAlone[];
}

export interface PlanRequest {
  verb: string; // queues.retry, queues.discard, queues.cancel, clean, ttl …
  select: Record<string, string>;
  options?: Record<string, string>;
}

/** One message of /api/v1/events. */
export interface StateEvent {
  target: string;
  what: string[]; // whose answers are others now: progress, or a page
  at: string;
  running?: Progress; // with progress
}
