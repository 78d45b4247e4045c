import type { List, Queue } from "../api";
import { useData } from "../data";
import { brief, count, duration, rate } from "../format";
import { at, view } from "../route";
import { Chip, Figure, Figures, KeyName, Name, Panel } from "../ui/bits";
import { Answer, None } from "../ui/states";
import { Table } from "../ui/table";

const sum = (of: Queue[], f: (q: Queue) => number): number => of.reduce((s, q) => s + f(q), 0);

export function QueueName({ q }: { q: Queue }) {
  return (
    <>
      <Name text={q.entry} />
      {q.queue && (
        <>
          {" "}
          <KeyName of={q.queue} />
        </>
      )}
    </>
  );
}

/** Flow says how many jobs came into a queue or left it, and over how long that was counted. */
export function Flow({ q, of }: { q: Queue; of: "came" | "left" }) {
  const { [of]: n, over_seconds: over = 0 } = q.growth ?? {};
  if (n === undefined) return <span class="note">{q.growth ? "not counted" : "not known yet"}</span>;
  return <span title={`${count(n)} jobs ${of} in ${duration(over)}`}>{rate(n, over)}</span>;
}

const perSecond = (q: Queue, of: "came" | "left"): number => (q.growth?.[of] ?? 0) / (q.growth?.over_seconds ?? 1);

export function QueuesPage({ target }: { target: string }) {
  const path = at(["t", target, "queues"], { limit: "10000" });
  const data = useData<List<Queue>>(path, "queues", target);
  return (
    <>
      <header class="page">
        <h1>Queues</h1>
        <p class="note">What waits, runs and failed.</p>
      </header>
      <Answer of={data} what="the queues">
        {(list) => (
          <>
            {list.items.length > 0 && (
              <Figures>
                <Figure name="Waiting" value={brief(sum(list.items, (q) => q.waiting))} />
                <Figure name="Running" value={brief(sum(list.items, (q) => q.running))} />
                <Figure name="Delayed" value={brief(sum(list.items, (q) => q.delayed))} />
                <Figure name="Dead" value={brief(sum(list.items, (q) => q.dead))} tone={sum(list.items, (q) => q.dead) > 0 ? "error" : "good"} />
              </Figures>
            )}
            <Panel wide title="All queues">
              <Table<Queue>
                id="queues"
                caption="Queues"
                rows={list.items}
                total={list.total}
                rowKey={(q) => `${q.entry} ${q.instance}`}
                text={(q) => `${q.entry} ${q.queue?.text ?? ""}`}
                csv={path}
                empty={<None of={list} title="No queue is declared">An entry with type: queue is shown here.</None>}
                columns={[
                  {
                    id: "name",
                    title: "Queue",
                    sort: (q) => `${q.entry} ${q.queue?.text ?? ""}`,
                    cell: (q) => (
                      <>
                        <a href={view(["t", target, "queues", q.entry, q.instance])}>
                          <QueueName q={q} />
                        </a>{" "}
                        {q.paused && <Chip tone="warning">paused</Chip>}
                      </>
                    ),
                  },
                  { id: "waiting", title: "Waiting", num: true, sort: (q) => q.waiting, cell: (q) => count(q.waiting) },
                  { id: "age", title: "Oldest", num: true, sort: (q) => q.oldest_seconds, cell: (q) => (q.oldest_seconds > 0 ? duration(q.oldest_seconds) : "–") },
                  { id: "in", title: "In", num: true, minor: true, sort: (q) => perSecond(q, "came"), cell: (q) => <Flow q={q} of="came" /> },
                  { id: "out", title: "Out", num: true, minor: true, sort: (q) => perSecond(q, "left"), cell: (q) => <Flow q={q} of="left" /> },
                  { id: "running", title: "Running", num: true, minor: true, sort: (q) => q.running, cell: (q) => count(q.running) },
                  { id: "delayed", title: "Delayed", num: true, minor: true, sort: (q) => q.delayed, cell: (q) => count(q.delayed) },
                  { id: "workers", title: "Workers", num: true, minor: true, sort: (q) => q.workers.length, cell: (q) => count(q.workers.length) },
                  {
                    id: "dead",
                    title: "Dead",
                    num: true,
                    sort: (q) => q.dead,
                    cell: (q) => (q.dead > 0 ? <strong class="error">{count(q.dead)}</strong> : "0"),
                  },
                ]}
              />
            </Panel>
          </>
        )}
      </Answer>
    </>
  );
}
