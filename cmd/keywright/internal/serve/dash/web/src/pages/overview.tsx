import type { Changed, CodeCount, EntryRow, Overview } from "../api";
import { ahead, useData } from "../data";
import { brief, bytes, count, percent, plural, signed } from "../format";
import { useAudit } from "../live";
import { at, setQuery, useRoute, view } from "../route";
import { Ago, Chip, Figure, Figures, Level, Name, Panel } from "../ui/bits";
import { Answer, Audit, Empty } from "../ui/states";
import { Table } from "../ui/table";
import { Now } from "./now";
import { grow, inside, labelOf, rowLink, tone, Treemap, type Measure } from "../ui/treemap";
import { historyAt, Trend, type Metric } from "../ui/trend";

function Head({ target, o }: { target: string; o: Overview }) {
  const { totals: t } = o;
  const wrong = t.violations;
  const since = !o.since ? undefined : Date.now() - Date.parse(o.since) > 20 * 3_600_000 ? "since yesterday" : "since the first audit";
  const known = (text: string): string => (o.at ? text : "–"); // zero would be a claim
  return (
    <Figures>
      <Figure name="Keys" value={known(brief(t.keys))} more={since && `${signed(o.keys_delta, brief)} ${since}`} />
      <Figure name="Memory" value={known(bytes(t.bytes))} more={since && `${signed(o.bytes_delta, bytes)} ${since}`} />
      <Figure
        name="Violations"
        value={<a href={view(["t", target, "findings"])}>{known(brief(wrong))}</a>}
        more={o.findings.length > 0 ? `${plural(o.findings.length, "rule")} broken` : o.at ? "every key is as declared" : undefined}
        tone={o.findings.some((f) => f.severity === "error") ? "error" : wrong > 0 ? "warning" : ""}
      />
      <Figure
        name="Undeclared"
        value={<a href={view(["t", target, "undeclared"])}>{known(brief(t.undeclared))}</a>}
        more={t.keys > 0 ? `${percent(t.undeclared / t.keys)} of all keys` : undefined}
        tone={t.undeclared > 0 ? "warning" : "good"}
      />
      <Figure name="Without TTL" value={known(brief(t.no_ttl))} more={t.keys > 0 ? `${percent(t.no_ttl / t.keys)} of all keys` : undefined} />
    </Figures>
  );
}

function Crumbs({ target, zoom, by }: { target: string; zoom: string; by: Measure }) {
  const steps = zoom.split(":").filter(Boolean);
  if (steps.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Group">
      <a href={view(["t", target], { by })}>All</a>
      {steps.map((s, i) => {
        const path = steps.slice(0, i + 1).join(":");
        return (
          <a key={path} href={view(["t", target], { by, zoom: path })} aria-current={path === zoom ? "true" : undefined}>
            {s}
          </a>
        );
      })}
    </nav>
  );
}

const legend: [string, string][] = [
  ["clean", "as declared"],
  ["warning", "warnings"],
  ["error", "errors"],
  ["undeclared", "undeclared"],
  ["foreign", "foreign"],
];

function Map({ target, o }: { target: string; o: Overview }) {
  const { query } = useRoute();
  const noBytes = o.totals.bytes === 0;
  const by: Measure = query.get("by") === "keys" || noBytes ? "keys" : "bytes";
  const wanted = query.get("zoom") ?? "";
  const zoom = wanted ? inside(grow(o.entries), wanted).path : "";
  return (
    <Panel
      wide
      title="Where the keys are"
      tools={
        <span class="segments" role="group" aria-label="Area">
          {(["bytes", "keys"] as const).map((m) => (
            <button key={m} type="button" aria-pressed={by === m} disabled={m === "bytes" && noBytes} onClick={() => setQuery({ by: m })}>
              {m === "bytes" ? "Memory" : "Keys"}
            </button>
          ))}
        </span>
      }
    >
      <Crumbs target={target} zoom={zoom} by={by} />
      {o.totals.keys > 0 ? (
        <>
          <Treemap
            target={target}
            rows={o.entries}
            by={by}
            zoom={zoom}
            linkOf={(z) => view(["t", target], { by: by === "keys" ? by : undefined, zoom: z })}
          />
          <ul class="legend">
            {legend.map(([tone, words]) => (
              <li key={tone}>
                <i class={`tile ${tone}`} />
                {words}
              </li>
            ))}
          </ul>
        </>
      ) : (
        <Empty title={o.at ? "There are no keys" : "Nothing was counted yet"}>
          {o.at ? "The server holds no key in this database." : "The first audit fills this map."}
        </Empty>
      )}
    </Panel>
  );
}

function Changes({ target, o }: { target: string; o: Overview }) {
  const rows = [...o.changed].sort((a, b) => b.new_codes.length - a.new_codes.length || Math.abs(b.bytes_delta) - Math.abs(a.bytes_delta));
  const linkOf = (name: string): string => {
    const row = o.entries.find((e) => e.name === name);
    return row ? rowLink(target, row) : view(["t", target, "e", name]);
  };
  return (
    <Panel below title="What has changed" note={o.since ? <>compared with <Ago at={o.since} /></> : undefined}>
      {!o.since ? (
        <Empty title="Nothing to compare with">The history begins with the first audit.</Empty>
      ) : (
        <Table<Changed>
          id="changed"
          caption="What has changed"
          rows={rows}
          rowKey={(r) => r.entry}
          page={8}
          empty={<Empty title="Nothing changed">No entry grew, shrank or broke a rule that it had kept.</Empty>}
          columns={[
            {
              id: "entry",
              title: "Entry",
              csv: (r) => r.entry,
              cell: (r) => (
                <>
                  <a href={linkOf(r.entry)}>
                    <Name text={r.entry} />
                  </a>{" "}
                  {r.new_codes.map((c) => (
                    <Chip key={c} tone="error">
                      new {c}
                    </Chip>
                  ))}
                  {r.gone_codes.map((c) => (
                    <Chip key={c}>{c} is gone</Chip>
                  ))}
                </>
              ),
            },
            { id: "keys", title: "Keys", num: true, sort: (r) => r.keys_delta, cell: (r) => signed(r.keys_delta, brief) },
            { id: "bytes", title: "Memory", num: true, sort: (r) => r.bytes_delta, cell: (r) => signed(r.bytes_delta, bytes) },
          ]}
        />
      )}
    </Panel>
  );
}

export function Rules({ target, of, read }: { target: string; of: CodeCount[]; read: boolean }) {
  return (
    <Table<CodeCount>
      id="rules"
      caption="Rules that keys break"
      rows={of}
      rowKey={(r) => r.code}
      page={10}
      empty={<Empty title={read ? "Every key is as declared" : "Nothing was read yet"} />}
      columns={[
        {
          id: "rule",
          title: "Rule",
          sort: (r) => r.code,
          cell: (r) => (
            <>
              <Level is={r.severity} />{" "}
              <a href={view(["t", target, "findings"], { code: r.code })}>
                <span class="code">{r.code}</span> {r.title}
              </a>
            </>
          ),
        },
        { id: "keys", title: "Keys", num: true, sort: (r) => r.keys, cell: (r) => count(r.keys) },
      ]}
    />
  );
}

function Entries({ target, o }: { target: string; o: Overview }) {
  const total = o.totals.bytes;
  return (
    <Panel wide below title="Entries">
      <Table<EntryRow>
        id="entries"
        caption="Entries, undeclared and foreign keys"
        rows={o.entries}
        rowKey={(r) => `${r.kind} ${r.name}`}
        order="-bytes"
        text={(r) => `${r.name} ${r.pattern ?? ""} ${r.type ?? ""} ${r.construct ?? ""} ${r.owner ?? ""} ${r.kind}`}
        csv={answerAt(target)}
        empty={<Empty title={o.at ? "Nothing is declared" : "Nothing was read yet"} />}
        columns={[
          {
            id: "name",
            title: "Entry",
            sort: (r) => r.name,
            cell: (r) => (
              <>
                <i class={`dot ${tone(r)}`} aria-hidden="true" />
                <a href={rowLink(target, r)}>
                  <Name text={labelOf(r)} />
                </a>{" "}
                {r.kind !== "entry" && <Chip>{r.kind}</Chip>}
              </>
            ),
          },
          { id: "type", title: "Type", minor: true, sort: (r) => r.construct ?? r.type ?? "", cell: (r) => r.construct ?? r.type },
          { id: "owner", title: "Owner", minor: true, sort: (r) => r.owner ?? "", cell: (r) => r.owner && <Name text={r.owner} /> },
          { id: "keys", title: "Keys", num: true, sort: (r) => r.keys, cell: (r) => count(r.keys) },
          { id: "bytes", title: "Memory", num: true, sort: (r) => r.bytes, cell: (r) => bytes(r.bytes) },
          { id: "share", title: "Share", num: true, minor: true, sort: (r) => r.bytes, cell: (r) => (total > 0 ? percent(r.bytes / total) : "–") },
          { id: "ttl", title: "Without TTL", num: true, minor: true, sort: (r) => r.no_ttl, cell: (r) => count(r.no_ttl) },
          {
            id: "wrong",
            title: "Violations",
            num: true,
            sort: (r) => r.violations,
            cell: (r) => (r.violations > 0 ? <strong class={tone(r)}>{count(r.violations)}</strong> : <span class="note">0</span>),
          },
        ]}
      />
    </Panel>
  );
}

const metrics: Metric[] = [
  { id: "violations", name: "All", write: brief },
  { id: "codes", name: "By rule", write: brief },
  { id: "keys", name: "Keys", write: brief },
  { id: "bytes", name: "Memory", write: bytes },
  { id: "server", name: "Server", write: bytes, of: "bytes", row: "(memory)" },
];

const answerAt = (target: string): string => at(["t", target, "overview"]);

/** overviewAhead begins to fetch what the page shows, before it is known which user this is. */
export function overviewAhead(target: string, query: URLSearchParams): void {
  ahead(answerAt(target), "audit", target);
  ahead(at(["t", target, "now"]), "now", target);
  const metric = metrics.find((m) => m.id === query.get("metric")) ?? metrics[0]!;
  ahead(historyAt(target, metric.of ?? metric.id, query, metric.row), "audit", target);
}

export function OverviewPage({ target }: { target: string }) {
  const data = useData<Overview>(answerAt(target), "audit", target);
  const told = useAudit(target);
  return (
    <Answer of={data} what="the overview" title="Overview">
      {(o) => {
        const running = told ?? o.running;
        return (
          <>
            <header class="page">
              <h1>
                <Name text={o.keyspace.name} />
              </h1>
              <p class="note">
                {o.keyspace.doc} {o.at && <>Read <Ago at={o.at} />{o.report?.sampled && ", as a sample"}.</>}
              </p>
            </header>
            <Now target={target} />
            {o.history_error && <p class="banner warning">History is not kept: <bdi>{o.history_error}</bdi></p>}
            {running && <Audit running={running} first={!o.at} />}
            <Head target={target} o={o} />
            <div class="grid">
              <Map target={target} o={o} />
              <div class="stack">
                <Panel title="Rules that keys break">
                  <Rules target={target} of={o.findings} read={o.at !== undefined} />
                </Panel>
                <Trend
                  title="Violations over time"
                  target={target}
                  metrics={metrics}
                />
              </div>
              <Changes target={target} o={o} />
              <Entries target={target} o={o} />
            </div>
          </>
        );
      }}
    </Answer>
  );
}
