import type { Bucket, Entry, EntryKey, KeyPage, Me, LargeKey, Offending, Severity } from "../api";
import { useData } from "../data";
import { brief, bytes, count, duration, percent, plural } from "../format";
import { at, keyView, useRoute, view } from "../route";
import { Act, mayAct } from "../ui/act";
import { Ago, Choice, Copy, Facts, Figure, Figures, KeyName, Level, Name, Panel, Yaml } from "../ui/bits";
import { Bars } from "../ui/chart";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";
import { Trend } from "../ui/trend";

// The page that shows what of an entry is at work now, by its type.
const working = new Map([
  ["queue", "queues"],
  ["lock", "locks"],
  ["entity", "entities"],
  ["stream", "streams"],
  ["topic", "streams"],
  ["cache", "caches"],
  ["ranking", "rankings"],
]);

/** merged are at most so many buckets: neighbours are added up. */
export function merged(of: Bucket[], most = 12): Bucket[] {
  const step = Math.ceil(of.length / most);
  const out: Bucket[] = [];
  for (let i = 0; i < of.length; i += step) {
    const some = of.slice(i, i + step);
    out.push({ from: some[0]!.from, to: some[some.length - 1]!.to, keys: some.reduce((s, b) => s + b.keys, 0) });
  }
  return out;
}

const labelled = (of: Bucket[], write: (n: number) => string) =>
  merged(of).map((b) => ({ label: b.to === undefined ? `more than ${write(b.from)}` : `up to ${write(b.to)}`, value: b.keys }));

function Distributions({ p }: { p: KeyPage }) {
  const ttls = labelled(p.ttl_buckets, duration);
  if (p.row.no_ttl > 0) ttls.push({ label: "never expire", value: p.row.no_ttl });
  const sizes = labelled(p.size_buckets, bytes);
  if (p.unsized > 0) sizes.push({ label: "unknown", value: p.unsized });
  return (
    <>
      <Panel title="Time to live" note="what is left of it">
        {ttls.length > 0 ? <Bars of={ttls} label="Keys by time to live" write={count} /> : <Empty title="No key was met" />}
        {p.ttl && (
          <p class="note">
            Half of those that expire have at most {duration(p.ttl.p50)} left, nine of ten {duration(p.ttl.p90)}.
          </p>
        )}
      </Panel>
      <Panel title="Size">
        {sizes.length > 0 ? <Bars of={sizes} label="Keys by size" write={count} /> : <Empty title="No key was met" />}
      </Panel>
    </>
  );
}

function Largest({ target, rows }: { target: string; rows: LargeKey[] }) {
  return (
    <Panel title="Largest keys">
      <Table<LargeKey>
        id="largest"
        caption="Largest keys"
        rows={rows}
        rowKey={(r) => `${r.db} ${r.key.base64 ?? r.key.text}`}
        page={10}
        empty={<Empty title="No key was measured" />}
        columns={[
          {
            id: "key",
            title: "Key",
            csv: (r) => r.key.text,
            cell: (r) => (
              <a href={keyView(target, r.key)}>
                <KeyName of={r.key} />
              </a>
            ),
          },
          {
            id: "ttl",
            title: "Expires in",
            num: true,
            minor: true,
            sort: (r) => r.ttl ?? Infinity,
            cell: (r) => (r.ttl === undefined ? "never" : duration(r.ttl)),
          },
          { id: "bytes", title: "Memory", num: true, sort: (r) => r.bytes, cell: (r) => bytes(r.bytes) },
        ]}
      />
    </Panel>
  );
}

function Offenders({ target, of, level }: { target: string; of: Offending[]; level: (code: string) => Severity | undefined }) {
  const rows = of.flatMap((o) => o.keys);
  return (
    <Panel
      wide
      title="Offending keys"
      tools={rows.length > 0 && <a class="button small" href={view(["t", target, "findings"])}>All findings</a>}
    >
      {of.length === 0 ? (
        <Empty title="Nothing is wrong">Every key that was read is as declared.</Empty>
      ) : (
        <>
          <ol class="findings">
            {of.map((o) => (
              <li key={o.code}>
                <p>
                  <Level is={level(o.code) ?? "warning"} />{" "}
                  <a href={view(["t", target, "findings"], { code: o.code })}>
                    <span class="code">{o.code}</span> {o.name}
                  </a>
                  <span class="count">{o.cut ? `${count(o.keys.length)} of ${count(o.total)} keys` : plural(o.total, "key")}</span>
                </p>
              </li>
            ))}
          </ol>
          <Table<Offending["keys"][number]>
            id="offending"
            caption="Keys that break a rule"
            rows={rows}
            total={of.reduce((s, o) => s + o.total, 0)}
            page={20}
            rowKey={(r) => `${r.code} ${r.db} ${r.key.base64 ?? r.key.text}`}
            text={(r) => `${r.code} ${r.key.text}`}
            columns={[
              { id: "code", title: "Rule", sort: (r) => r.code, cell: (r) => <span class="code">{r.code}</span> },
              {
                id: "key",
                title: "Key",
                sort: (r) => r.key.text,
                cell: (r) => (
                  <a href={keyView(target, r.key)}>
                    <KeyName of={r.key} />
                  </a>
                ),
              },
              { id: "db", title: "Database", num: true, minor: true, sort: (r) => r.db, cell: (r) => r.db },
            ]}
          />
        </>
      )}
    </Panel>
  );
}

const list = (names?: string[]) =>
  names?.length ? (
    <ul class="names">
      {names.map((n) => (
        <li key={n}>
          <Name text={n} />
        </li>
      ))}
    </ul>
  ) : undefined;

function Users({ e }: { e: Entry }) {
  return (
    <Panel title="Who uses it">
      <Facts
        of={[
          ["Owner", e.owner ? <Name text={e.owner} /> : "none is declared"],
          ["Writers", list(e.writers) ?? "none is declared"],
          ["Readers", list(e.readers) ?? "none is declared"],
          ["TTL by", list(e.ttl_by)],
          ["Stamps", list(e.stamps)],
          ["Tells", list(e.channels)],
          ["Deleted by", list(e.deleted_by)],
          ["Old names", list(e.was)],
          ["Script", e.script && <Name text={e.script} />],
        ]}
      />
    </Panel>
  );
}

function Keys({ of }: { of: EntryKey[] }) {
  return (
    <Panel wide title="Its keys">
      <Table<EntryKey>
        id="keys"
        caption="Keys of the entry"
        rows={of}
        rowKey={(k) => k.name}
        columns={[
          {
            id: "pattern",
            title: "Pattern",
            csv: (k) => k.pattern,
            cell: (k) => (
              <>
                <KeyName of={{ text: k.pattern }} />
                {k.doc && <div class="note">{k.doc}</div>}
              </>
            ),
          },
          { id: "type", title: "Type", minor: true, csv: (k) => k.type, cell: (k) => k.type },
          { id: "ttl", title: "TTL", csv: (k) => k.ttl, cell: (k) => k.ttl },
          { id: "example", title: "Example", minor: true, csv: (k) => k.example, cell: (k) => <KeyName of={{ text: k.example }} /> },
          { id: "derived", title: "Origin", minor: true, cell: (k) => <span class="note">{k.derived ? "derived" : "declared"}</span> },
        ]}
      />
    </Panel>
  );
}

function Head({ target, e }: { target: string; e: Entry }) {
  const of = working.get(e.construct ?? e.type);
  return (
    <header class="page">
      <nav class="crumbs" aria-label="Place">
        <a href={view(["t", target])}>Overview</a>
        <span>{e.construct ?? e.type}</span>
      </nav>
      <h1>
        <Name text={e.name} />
      </h1>
      <p class="lead">{e.doc ?? "It has no documentation yet: its doc is the place for it."}</p>
      <p class="note">
        {e.at ? (
          <>
            Read <Ago at={e.at} />.
          </>
        ) : (
          "No audit has read it yet."
        )}{" "}
        {of && <a href={view(["t", target, of], { [`${of}.q`]: e.name })}>See its {of}</a>}
      </p>
    </header>
  );
}

function Counts({ e }: { e: Entry }) {
  const sum = (f: (p: KeyPage) => number): number => e.parts.reduce((s, p) => s + f(p), 0);
  const wrong = sum((p) => p.row.violations);
  return (
    <Figures>
      <Figure name="Keys" value={brief(e.counts.keys)} />
      <Figure name="Memory" value={bytes(e.counts.bytes)} more={`${percent(e.counts.share)} of all`} />
      <Figure name="Without TTL" value={brief(e.counts.no_ttl)} />
      <Figure name="Violations" value={brief(wrong)} tone={sum((p) => p.row.errors) > 0 ? "error" : wrong > 0 ? "warning" : "good"} />
    </Figures>
  );
}

/** Acts are the plans that can be made of an entry. */
function Acts({ target, e, me }: { target: string; e: Entry; me: Me }) {
  const select = { entry: e.name };
  if (!mayAct(me)) return null;
  return (
    <p class="buttons">
      {e.counts.no_ttl > 0 && e.construct !== "entity" && e.keys[0]?.ttl !== "none" && (
        <Act me={me} target={target} verb="ttl" select={select} words="Give keys their TTL" />
      )}
      {e.construct === "entity" && <Act me={me} target={target} verb="entities.repair" select={select} words="Sweep and repair" />}
      {e.construct === "queue" && <Act me={me} target={target} verb="queues.repair" select={select} words="Bring lost jobs back" />}
      <Act me={me} target={target} verb="clean" select={select} words="Clean up" tone="danger" />
    </p>
  );
}

export function EntryPage({ target, name, me }: { target: string; name: string; me: Me }) {
  const { query } = useRoute();
  const data = useData<Entry>(at(["t", target, "entries", name]), "audit", target);
  return (
    <Answer of={data} what="the entry" title={name}>
      {(e) => {
        const part = e.parts.find((k) => k.row.name === query.get("part")) ?? e.parts[0];
        const level = (code: string) => e.findings.find((f) => f.code === code)?.severity;
        return (
          <>
            <Head target={target} e={e} />
            {e.parts.length > 0 && <Counts e={e} />}
            <Acts target={target} e={e} me={me} />
            {e.parts.length > 1 && (
              <Choice
                label="Key of the entry"
                of={e.parts.map((k) => ({ name: k.row.name, href: view(["t", target, "e", name], { part: k.row.name }), on: k === part }))}
              />
            )}
            <div class="grid">
              <Panel
                title="Declaration"
                note={<span class="code">{`${e.file}:${e.line}`}</span>}
                tools={<Copy text={e.declaration} what="declaration" />}
              >
                <Yaml text={e.declaration} />
              </Panel>
              <Users e={e} />
              {part && (
                <>
                  <Offenders target={target} of={part.offending} level={level} />
                  <Trend
                    title="Trend"
                    target={target}
                    entry={part.row.name}
                    metrics={[
                      { id: "keys", name: "Keys", write: brief },
                      { id: "bytes", name: "Memory", write: bytes },
                      { id: "violations", name: "Violations", write: brief },
                    ]}
                  />
                  <Largest target={target} rows={part.largest} />
                  <Distributions p={part} />
                </>
              )}
              <Keys of={e.keys} />
            </div>
          </>
        );
      }}
    </Answer>
  );
}
