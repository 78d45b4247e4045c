// The pages that are one table: locks, entities, streams, caches, rankings.
import type { ComponentChildren } from "preact";
import type { CacheRow, EntityRow, List, Lock, Ranking, Stream } from "../api";
import { useData } from "../data";
import { bytes, count, duration, plural } from "../format";
import { at, keyView, view } from "../route";
import { Chip, KeyName, Name, Panel } from "../ui/bits";
import { Answer, None } from "../ui/states";
import { Table, type Column } from "../ui/table";

interface Listed<T> {
  id: string;
  title: string;
  note: string;
  none: string;
  rowKey: (row: T) => string;
  text: (row: T) => string;
  order?: string;
  columns: Column<T>[];
}

function Listing<T>({ target, is }: { target: string; is: Listed<T> }) {
  const path = at(["t", target, is.id], { limit: "10000" });
  const data = useData<List<T>>(path, is.id, target);
  return (
    <>
      <header class="page">
        <h1>{is.title}</h1>
        <p class="note">{is.note}</p>
      </header>
      <Answer of={data} what={is.title.toLowerCase()}>
        {(list) => (
          <Panel wide title={`All ${is.title.toLowerCase()}`}>
            {list.cut && <p class="banner warning">There are more than are listed here.</p>}
            {list.untimed && <p class="note">How long its lease lasts still is not read of {plural(list.untimed, "lock")}: there are too many.</p>}
            <Table<T>
              id={is.id}
              caption={is.title}
              rows={list.items}
              total={list.total}
              rowKey={is.rowKey}
              text={is.text}
              order={is.order}
              csv={path}
              empty={<None of={list} title={is.none} />}
              columns={is.columns}
            />
          </Panel>
        )}
      </Answer>
    </>
  );
}

const or = (value: number | undefined, write: (n: number) => string): string => (value === undefined ? "–" : write(value));

const entryOf = <T extends { entry: string }>(target: string): Column<T> => ({
  id: "entry",
  title: "Entry",
  sort: (r) => r.entry,
  cell: (r) => (
    <a href={view(["t", target, "e", r.entry])}>
      <Name text={r.entry} />
    </a>
  ),
});

const keyOf = <T extends { key: { text: string; base64?: string } }>(target: string): Column<T> => ({
  id: "key",
  title: "Key",
  sort: (r) => r.key.text,
  cell: (r) => (
    <a href={keyView(target, r.key)}>
      <KeyName of={r.key} />
    </a>
  ),
});

const locks = (target: string): Listed<Lock> => ({
  id: "locks",
  title: "Locks",
  note: "Locks that are held now: by which process, for how long, and how many wait.",
  none: "No lock is held",
  order: "-waiting",
  rowKey: (l) => l.key.base64 ?? l.key.text,
  text: (l) => `${l.entry} ${l.key.text} ${l.holder?.text ?? ""}`,
  columns: [
    keyOf(target),
    { ...entryOf<Lock>(target), minor: true },
    { id: "holder", title: "Holder", cell: (l) => (l.holder ? <KeyName of={l.holder} /> : l.sharing > 0 ? <Chip>{count(l.sharing)} share it</Chip> : "–") },
    { id: "held", title: "Held for", num: true, minor: true, sort: (l) => l.held_seconds ?? -1, cell: (l) => or(l.held_seconds, duration) },
    { id: "left", title: "Lease left", num: true, sort: (l) => l.lease_left_seconds ?? -1, cell: (l) => or(l.lease_left_seconds, duration) },
    { id: "fence", title: "Fencing token", num: true, minor: true, sort: (l) => l.fence ?? -1, cell: (l) => or(l.fence, String) },
    { id: "waiting", title: "Waiting", num: true, sort: (l) => l.waiting, cell: (l) => (l.waiting > 0 ? <strong class="warning">{count(l.waiting)}</strong> : "0") },
  ],
});

const entities = (target: string): Listed<EntityRow> => ({
  id: "entities",
  title: "Entities",
  note: "Items that are kept in step with their indexes, and what waits to be swept.",
  none: "No entity is declared",
  order: "-items",
  rowKey: (e) => `${e.entry} ${e.of?.base64 ?? e.of?.text ?? ""}`,
  text: (e) => `${e.entry} ${e.of?.text ?? ""}`,
  columns: [
    entryOf(target),
    { id: "of", title: "Of", minor: true, cell: (e) => e.of && <KeyName of={e.of} /> },
    { id: "items", title: "Items", num: true, sort: (e) => e.items, cell: (e) => count(e.items) },
    { id: "expired", title: "To be swept", num: true, sort: (e) => e.expired, cell: (e) => count(e.expired) },
    {
      id: "late",
      title: "Late",
      num: true,
      sort: (e) => e.late_seconds ?? 0,
      cell: (e) => (e.late_seconds && e.late_seconds > 60 ? <strong class="warning">{duration(e.late_seconds)}</strong> : or(e.late_seconds, duration)),
    },
    { id: "sweeper", title: "Swept by", minor: true, cell: (e) => (e.sweeper ? <KeyName of={e.sweeper} /> : <span class="note">no process</span>) },
  ],
});

const groups = (s: Stream): ComponentChildren =>
  s.groups.length === 0 ? (
    <span class="note">no group reads it</span>
  ) : (
    <ul class="lines">
      {s.groups.map((g) => (
        <li key={g.name.base64 ?? g.name.text}>
          <KeyName of={g.name} />
          <span class={g.lag && g.lag > 1000 ? "warning" : ""}>lag {g.lag === null ? "unknown" : count(g.lag)}</span>
          <span>{count(g.pending)} pending</span>
          <span class="note">{plural(g.consumers, "consumer")}</span>
        </li>
      ))}
    </ul>
  );

const lag = (s: Stream): number => Math.max(-1, ...s.groups.map((g) => g.lag ?? -1));

const streams = (target: string): Listed<Stream> => ({
  id: "streams",
  title: "Streams",
  note: "Their groups, and how far each is from the newest message.",
  none: "No stream is declared",
  order: "-lag",
  rowKey: (s) => s.key.base64 ?? s.key.text,
  text: (s) => `${s.entry} ${s.key.text} ${s.groups.map((g) => g.name.text).join(" ")}`,
  columns: [
    keyOf(target),
    { ...entryOf<Stream>(target), minor: true },
    { id: "length", title: "Messages", num: true, sort: (s) => s.length, cell: (s) => count(s.length) },
    { id: "lag", title: "Groups", sort: lag, cell: groups },
  ],
});

const caches = (target: string): Listed<CacheRow> => ({
  id: "caches",
  title: "Caches",
  note: "What they hold, for how long it lives, and which events delete it.",
  none: "No cache is declared",
  order: "-bytes",
  rowKey: (c) => c.entry,
  text: (c) => `${c.entry} ${c.pattern} ${c.deleted_by.join(" ")}`,
  columns: [
    entryOf(target),
    { id: "keys", title: "Keys", num: true, sort: (c) => c.keys, cell: (c) => count(c.keys) },
    { id: "bytes", title: "Memory", num: true, sort: (c) => c.bytes, cell: (c) => bytes(c.bytes) },
    { id: "ttl", title: "TTL left, median", num: true, minor: true, sort: (c) => c.ttl?.p50 ?? -1, cell: (c) => or(c.ttl?.p50, duration) },
    { id: "none", title: "Without TTL", num: true, minor: true, sort: (c) => c.no_ttl, cell: (c) => count(c.no_ttl) },
    { id: "deleted", title: "Deleted by", minor: true, cell: (c) => c.deleted_by.map((e) => <Chip key={e}>{e}</Chip>) },
  ],
});

const rankings = (target: string): Listed<Ranking> => ({
  id: "rankings",
  title: "Rankings",
  note: "How many members each has, and the first.",
  none: "No ranking holds a member",
  order: "-members",
  rowKey: (r) => `${r.entry} ${r.key.base64 ?? r.key.text}`,
  text: (r) => `${r.entry} ${r.key.text} ${r.first?.member.text ?? ""}`,
  columns: [
    keyOf(target),
    { ...entryOf<Ranking>(target), minor: true },
    { id: "members", title: "Members", num: true, sort: (r) => r.members, cell: (r) => count(r.members) },
    { id: "first", title: "First", cell: (r) => (r.first ? <><KeyName of={r.first.member} /> <span class="note">{r.first.infinite ?? r.first.score}</span></> : "–") },
    { id: "expires", title: "Expires in", num: true, minor: true, sort: (r) => r.expires_in_seconds ?? Infinity, cell: (r) => (r.expires_in_seconds === undefined ? "never" : duration(r.expires_in_seconds)) },
  ],
});

export const constructs = new Map<string, (p: { target: string }) => ComponentChildren>([
  ["locks", ({ target }) => <Listing target={target} is={locks(target)} />],
  ["entities", ({ target }) => <Listing target={target} is={entities(target)} />],
  ["streams", ({ target }) => <Listing target={target} is={streams(target)} />],
  ["caches", ({ target }) => <Listing target={target} is={caches(target)} />],
  ["rankings", ({ target }) => <Listing target={target} is={rankings(target)} />],
]);
