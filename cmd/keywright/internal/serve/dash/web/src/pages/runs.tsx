import type { List, Me, Run, RunState } from "../api";
import { useData } from "../data";
import { count, percent } from "../format";
import { newer, useRuns } from "../live";
import { at, view } from "../route";
import { Act } from "../ui/act";
import { Ago, Meter, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";

const words: Record<RunState, string> = {
  planning: "is being made",
  planned: "waits for a yes",
  refused: "refused",
  running: "runs",
  stopping: "is stopping",
  stopped: "stopped",
  interrupted: "was interrupted",
  done: "done",
  failed: "failed",
};

export const RunWord = ({ of }: { of: RunState }) => <span class={`state ${of}`}>{words[of] ?? of}</span>;

export const moving = (r: Run): boolean => r.state === "running" || r.state === "stopping";

/** busy reports whether something is under way. */
export const busy = (r: Run): boolean => moving(r) || r.state === "planning";

const share = (r: Run): string => (r.total > 0 ? percent(Math.min(1, r.done / r.total)) : "");

export function RunsPage({ target, me }: { target: string; me: Me }) {
  const path = at(["t", target, "runs"]);
  const data = useData<List<Run>>(path, "runs", target);
  const told = useRuns();
  return (
    <>
      <header class="page">
        <h1>Runs and plans</h1>
        <p class="note">What changes something, or did: each begins as a plan that changes nothing.</p>
      </header>
      <Answer of={data} what="runs">
        {(list) => (
          <Panel
            wide
            title="Newest first"
            tools={
              <>
                <Act me={me} target={target} verb="clean" select={{}} words="Clean up" tone="danger" />
                <Act me={me} target={target} verb="ttl" select={{}} words="Give keys their TTL" />
                <Act me={me} target={target} verb="entities.repair" select={{}} words="Repair entities" />
                <Act me={me} target={target} verb="queues.repair" select={{}} words="Repair queues" />
              </>
            }
          >
            <Table<Run>
              id="runs"
              caption="Runs and plans"
              rows={list.items.map((r) => newer(r, data.asked, told.get(r.id)))}
              total={list.total}
              rowKey={(r) => r.id}
              text={(r) => `${r.title} ${r.verb} ${r.by ?? ""} ${words[r.state]}`}
              csv={path}
              empty={<Empty title="Nothing was planned yet">A plan is made here, and on the pages of queues and entries.</Empty>}
              columns={[
                {
                  id: "title",
                  title: "What",
                  cell: (r) => (
                    <a href={view(["t", target, "runs", r.id])}>
                      <Name text={r.title} />
                    </a>
                  ),
                },
                { id: "state", title: "State", sort: (r) => r.state, cell: (r) => <RunWord of={r.state} /> },
                {
                  id: "done",
                  title: "Progress",
                  num: true,
                  cell: (r) =>
                    moving(r) ? (
                      <>
                        {share(r)}
                        <Meter value={r.done} of={r.total} label={`Progress of ${r.title}`} />
                      </>
                    ) : (
                      `${count(r.done)} of ${count(r.total)}`
                    ),
                },
                { id: "by", title: "By", minor: true, sort: (r) => r.by ?? "", cell: (r) => r.by && <Name text={r.by} /> },
                { id: "at", title: "Since", num: true, minor: true, sort: (r) => r.at, cell: (r) => <Ago at={r.at} /> },
              ]}
            />
          </Panel>
        )}
      </Answer>
    </>
  );
}
