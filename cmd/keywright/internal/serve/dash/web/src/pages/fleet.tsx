import type { List, Target, TargetState } from "../api";
import type { Data } from "../data";
import { brief, bytes, count } from "../format";
import { view } from "../route";
import { Ago, Figure, Figures, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Now } from "./now";
import { Table } from "../ui/table";

const words: Record<TargetState, string> = {
  ok: "current",
  stale: "old",
  away: "away",
  snapshot: "snapshot file",
  starting: "first audit",
  partial: "not whole",
  broken: "not watched",
};

export const State = ({ of }: { of: TargetState }) => <span class={`state ${of}`}>{words[of] ?? of}</span>;

const labels = (t: Target): string =>
  Object.entries(t.labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

export function FleetPage({ targets }: { targets: Data<List<Target>> }) {
  return (
    <>
      <header class="page">
        <h1>Fleet</h1>
        <p class="note">All servers that this instance watches.</p>
      </header>
      <Now />
      <Answer of={targets} what="the servers">
        {(list) => (
          <>
            <Figures>
              <Figure name="Servers" value={count(list.total)} more={`${list.items.filter((t) => t.state === "away" || t.state === "broken").length} away`} />
              <Figure name="Keys" value={brief(list.items.reduce((s, t) => s + t.keys, 0))} />
              <Figure name="Memory" value={bytes(list.items.reduce((s, t) => s + t.bytes, 0))} />
              <Figure name="Violations" value={brief(list.items.reduce((s, t) => s + t.violations, 0))} />
            </Figures>
            <Panel wide title="Servers">
              <Table<Target>
                id="targets"
                caption="Servers"
                rows={list.items}
                total={list.total}
                rowKey={(t) => t.id}
                order="state"
                text={(t) => `${t.id} ${t.name} ${labels(t)} ${t.declaration} ${t.kind} ${words[t.state]}`}
                csv="api/v1/targets"
                empty={<Empty title="No server is watched">Start keywright serve with --url or --targets.</Empty>}
                columns={[
                  {
                    id: "name",
                    title: "Server",
                    sort: (t) => t.name,
                    cell: (t) =>
                      t.state === "broken" ? (
                        <Name text={t.id} />
                      ) : (
                        <a href={view(["t", t.id])}>
                          <Name text={list.total > 1 ? t.id : t.name} />
                        </a>
                      ),
                  },
                  {
                    id: "state",
                    title: "State",
                    sort: (t) => ["broken", "away", "starting", "partial", "stale", "snapshot", "ok"].indexOf(t.state),
                    cell: (t) => <State of={t.state} />,
                  },
                  { id: "labels", title: "Labels", minor: true, sort: labels, cell: (t) => <Name text={labels(t) || "none"} /> },
                  { id: "declaration", title: "Declaration", minor: true, sort: (t) => t.declaration, cell: (t) => <Name text={t.declaration} /> },
                  { id: "keys", title: "Keys", num: true, sort: (t) => t.keys, cell: (t) => count(t.keys) },
                  { id: "bytes", title: "Memory", num: true, minor: true, sort: (t) => t.bytes, cell: (t) => bytes(t.bytes) },
                  { id: "wrong", title: "Violations", num: true, sort: (t) => t.violations, cell: (t) => count(t.violations) },
                  { id: "at", title: "Read", minor: true, sort: (t) => t.at ?? "", cell: (t) => (t.at ? <Ago at={t.at} /> : "never") },
                ]}
              />
            </Panel>
          </>
        )}
      </Answer>
    </>
  );
}
