import { useEffect, useState } from "preact/hooks";
import type { DeadJob, DeadJobs, Lane, List, Looked, Me, Queue, QueueDetail, QueueJob } from "../api";
import { request, useData } from "../data";
import { brief, count, duration, plural } from "../format";
import { at, setQuery, useRoute, view } from "../route";
import { Act, mayAct, One } from "../ui/act";
import { Ago, When, Chip, Figure, Figures, KeyName, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";
import { Trend } from "../ui/trend";
import { Typed } from "../ui/typed";
import { Flow, QueueName } from "./queues";

const dead = (target: string, q: Queue, query: URLSearchParams): string =>
  at(["t", target, "queues", q.entry, q.instance, "dead"], { error: query.get("error") ?? undefined, text: query.get("text") ?? undefined });

/** useSearch is what a search has found. While it goes on it is asked for again and again. */
function useSearch<T extends Looked>(path: string, target: string) {
  const found = useData<T>(path, "dead", target); // asked on opening
  const searching = found.data?.searching;
  useEffect(() => {
    if (!searching) return;
    const timer = setInterval(found.reload, 2_000);
    return () => clearInterval(timer);
  }, [searching, path]);
  return found;
}

/** Far says how far a search is. */
const Far = ({ of, all }: { of: Looked; all: number }) => (
  <p class="note" role="status">
    {of.searching ? `Searching: ${count(of.looked_at)} of ${count(Math.max(all, of.looked_at))} dead jobs were looked at.` : `${count(of.looked_at)} dead jobs were looked at.`}
  </p>
);

/** Jobs lists what matches, a page at a time: there may be hundreds of thousands. */
function Jobs({ path, target, q, me }: { path: string; target: string; q: Queue; me: Me }) {
  const first = useSearch<DeadJobs>(path, target);
  const [more, setMore] = useState<{ of: string; items: DeadJob[]; cursor?: string }>({ of: path, items: [] });
  const mine = more.of === path ? more : { of: path, items: [] as DeadJob[], cursor: undefined };
  return (
    <Answer of={first} what="dead jobs">
      {(list) => {
        const cursor = mine.items.length > 0 ? mine.cursor : list.cursor;
        return (
          <>
            <Far of={list} all={q.dead} />
            <Table<DeadJob>
              id="dead"
              caption="Dead jobs"
              rows={[...list.items, ...mine.items]}
              total={list.total}
              page={100_000}
              rowKey={(j) => j.id.base64 ?? j.id.text}
              csv={path}
              empty={<Empty title={list.searching ? "No dead job matches so far" : "No dead job matches"} />}
              columns={[
                { id: "id", title: "Job", cell: (j) => <KeyName of={j.id} /> },
                { id: "reason", title: "Error", cell: (j) => <bdi class="reason">{j.reason}</bdi> },
                { id: "attempts", title: "Attempts", num: true, minor: true, sort: (j) => j.attempts, cell: (j) => count(j.attempts) },
                { id: "crashes", title: "Crashes", num: true, minor: true, sort: (j) => j.crashes, cell: (j) => count(j.crashes) },
                { id: "at", title: "Died", num: true, minor: true, sort: (j) => j.at ?? "", cell: (j) => (j.at ? <Ago at={j.at} /> : "–") },
                ...(mayAct(me)
                  ? [
                      {
                        id: "act",
                        title: "At once",
                        cell: (j: DeadJob) => j.id.base64 === undefined && (
                          <>
                            <One me={me} target={target} verb="queues.retry" select={{ entry: q.entry, instance: q.instance, id: j.id.text }} words="Retry" />{" "}
                            <One me={me} target={target} verb="queues.discard" select={{ entry: q.entry, instance: q.instance, id: j.id.text }} words="Discard" tone="danger" />
                          </>
                        ),
                      },
                    ]
                  : []),
              ]}
            />
            {cursor && (
              <p class="more">
                <button
                  type="button"
                  class="button small"
                  onClick={async () => {
                    const next = await request<DeadJobs>(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`);
                    setMore({ of: path, items: [...mine.items, ...next.items], cursor: next.cursor });
                  }}
                >
                  Show more
                </button>
              </p>
            )}
          </>
        );
      }}
    </Answer>
  );
}

function Dead({ target, q, me }: { target: string; q: Queue; me: Me }) {
  const { query } = useRoute();
  const error = query.get("error") ?? "";
  const text = query.get("text") ?? "";
  const [typing, setTyping] = useState(false); // what is in the box is not what was searched for
  const path = dead(target, q, query);
  const matched = useSearch<DeadJobs>(path, target).data;
  const groups = useSearch<QueueDetail>(at(["t", target, "queues", q.entry, q.instance]), target).data;
  const n = matched?.total ?? 0;
  const filter = [error && `error “${error}”`, text && `text “${text}”`].filter(Boolean).join(", ");
  const off = typing || !matched || (n === 0 && !matched.searching);
  const select = { entry: q.entry, instance: q.instance, error, text };
  return (
    <Panel
      wide
      title="Dead jobs"
      note="They failed as often as they may."
      tools={
        q.dead > 0 && (
          <>
            <Act me={me} target={target} verb="queues.retry" select={select} words={matched && !matched.searching ? `Retry all ${count(n)} that match` : "Retry all that match"} off={off} />
            <Act me={me} target={target} verb="queues.discard" select={select} words={filter ? `Discard all with ${filter}` : "Discard all"} tone="danger" off={off} />
          </>
        )
      }
    >
      {q.dead === 0 ? (
        <Empty title="No job is dead" />
      ) : (
        <>
          <div class="errors">
            <button type="button" aria-pressed={error === ""} onClick={() => setQuery({ error: undefined })}>
              <span>All errors</span>
              <strong>{count(q.dead)}</strong>
            </button>
            {groups?.errors.map((e) => (
              <button key={e.error} type="button" aria-pressed={error === e.error} onClick={() => setQuery({ error: e.error })}>
                <bdi>{e.error || "(no error was told)"}</bdi>
                <strong>{count(e.jobs)}</strong>
              </button>
            ))}
            {groups && groups.other_errors > 0 && <p class="note">{plural(groups.other_errors, "job has", "jobs have")} other errors.</p>}
            {groups?.searching && <Far of={groups} all={q.dead} />}
          </div>
          <Typed label="Text in the job's name or error" class="wide" text={text} typing={setTyping} done={(t) => setQuery({ text: t || undefined })} />
          <Jobs path={path} target={target} q={q} me={me} />
        </>
      )}
    </Panel>
  );
}

type Place = "waiting" | "running" | "delayed";

/** Alive lists jobs that are not dead, a page at a time. */
function Alive({ target, q, me }: { target: string; q: Queue; me: Me }) {
  const { query } = useRoute();
  const place = (query.get("jobs") ?? "waiting") as Place;
  const lane = query.get("lane") ?? q.lanes[0]?.lane ?? "";
  const from = query.get("from") ?? "";
  const path = at(["t", target, "queues", q.entry, q.instance, "jobs"], { state: place, lane: place === "waiting" ? lane : undefined, limit: "100", cursor: from || undefined });
  const jobs = useData<List<QueueJob>>(path, "queues", target);
  const title = { waiting: "", running: "Lease ends", delayed: "Due" }[place];
  return (
    <Panel
      wide
      title="Jobs"
      note="the first to go at first"
      tools={
        <>
          <span class="segments" role="group" aria-label="Jobs that">
            {(["waiting", "running", "delayed"] as const).map((p) => (
              <button key={p} type="button" aria-pressed={p === place} onClick={() => setQuery({ jobs: p === "waiting" ? undefined : p, from: undefined })}>
                {p === "waiting" ? "Wait" : p === "running" ? "Run" : "Wait for their time"}
              </button>
            ))}
          </span>
          {place === "waiting" && q.lanes.length > 1 && (
            <select aria-label="Lane" value={lane} onChange={(e) => setQuery({ lane: e.currentTarget.value, from: undefined })}>
              {q.lanes.map((l) => (
                <option key={l.lane} value={l.lane}>
                  {l.lane}
                </option>
              ))}
            </select>
          )}
        </>
      }
    >
      <Answer of={jobs} what="the jobs">
        {(list) => (
          <>
            <Table<QueueJob>
              id="alive"
              caption="Jobs"
              rows={list.items}
              total={list.total}
              page={100}
              rowKey={(j) => j.id.base64 ?? j.id.text}
              empty={<Empty title="There is no such job now" />}
              columns={[
                { id: "id", title: "Job", csv: (j) => j.id.text, cell: (j) => <KeyName of={j.id} /> },
                ...(title ? [{ id: "at", title, csv: (j: QueueJob) => j.at ?? "", cell: (j: QueueJob) => (j.at ? <When at={j.at} /> : "–") }] : []),
                ...(mayAct(me)
                  ? [
                      {
                        id: "act",
                        title: "At once",
                        cell: (j: QueueJob) =>
                          j.id.base64 === undefined && (
                            <>
                              {place === "delayed" && <One me={me} target={target} verb="queues.run" select={{ entry: q.entry, instance: q.instance, id: j.id.text }} words="Run now" />}{" "}
                              <One me={me} target={target} verb="queues.cancel" select={{ entry: q.entry, instance: q.instance, id: j.id.text }} words="Cancel" tone="danger" />
                            </>
                          ),
                      },
                    ]
                  : []),
              ]}
            />
            <p class="more">
              {from && (
                <button type="button" class="button small" onClick={() => setQuery({ from: undefined })}>
                  From the first
                </button>
              )}
              {list.cursor && (
                <button type="button" class="button small" onClick={() => setQuery({ from: list.cursor })}>
                  Next
                </button>
              )}
            </p>
          </>
        )}
      </Answer>
    </Panel>
  );
}

function Whole({ target, q, me }: { target: string; q: Queue; me: Me }) {
  return (
    <>
      <header class="page">
        <nav class="crumbs" aria-label="Place">
          <a href={view(["t", target, "queues"])}>Queues</a>
          <a href={view(["t", target, "e", q.entry])}>
            <Name text={q.entry} />
          </a>
        </nav>
        <h1>
          <QueueName q={q} /> {q.paused && <Chip tone="warning">paused</Chip>}
        </h1>
      </header>
      <Figures>
        <Figure name="Waiting" value={brief(q.waiting)} more={q.oldest_seconds > 0 && `the oldest for ${duration(q.oldest_seconds)}`} />
        <Figure name="Running" value={brief(q.running)} more={q.zombies > 0 ? `${plural(q.zombies, "worker is", "workers are")} dead` : undefined} tone={q.zombies > 0 ? "warning" : ""} />
        <Figure name="Delayed" value={brief(q.delayed)} />
        <Figure name="In" value={<Flow q={q} of="came" />} more={q.growth && `over ${duration(q.growth.over_seconds)}`} />
        <Figure name="Out" value={<Flow q={q} of="left" />} more="done, cancelled, discarded" />
        <Figure name="Dead" value={brief(q.dead)} tone={q.dead > 0 ? "error" : "good"} />
      </Figures>
      <div class="grid">
        <Trend
          title="Jobs over time"
          target={target}
          entry={`(queue) ${q.entry} ${q.instance}`}
          metrics={[{ id: "codes", name: "Jobs", write: count }]}
        />
        <Panel
          title="Lanes"
          note="in the order in which they drain"
          tools={
            <>
              {q.waiting + q.delayed > 0 && (
                <Act me={me} target={target} verb="queues.cancel" select={{ entry: q.entry, instance: q.instance }} words="Cancel all that wait" tone="danger" />
              )}
              <Act me={me} target={target} verb={q.paused ? "queues.resume" : "queues.pause"} select={{ entry: q.entry }} words={q.paused ? "Resume" : "Pause"} />
            </>
          }
        >
          <Table<Lane>
            id="lanes"
            caption="Lanes"
            rows={q.lanes}
            rowKey={(l) => l.lane ?? ""}
            columns={[
              { id: "lane", title: "Lane", csv: (l) => l.lane ?? "", cell: (l) => <Name text={l.lane ?? "all"} /> },
              { id: "jobs", title: "Waiting", num: true, csv: (l) => l.jobs, cell: (l) => count(l.jobs) },
              { id: "oldest", title: "Oldest", num: true, csv: (l) => l.oldest_seconds ?? 0, cell: (l) => (l.oldest_seconds === undefined ? "–" : duration(l.oldest_seconds)) },
            ]}
          />
        </Panel>
        <Panel title="Workers">
          {q.workers.length + (q.dead_workers?.length ?? 0) === 0 ? (
            <Empty title="No worker is there">Nothing drains this queue now.</Empty>
          ) : (
            <ul class="names">
              {q.workers.map((w) => (
                <li key={w.base64 ?? w.text}>
                  <KeyName of={w} />
                </li>
              ))}
              {q.dead_workers?.map((w) => (
                <li key={w.base64 ?? w.text}>
                  <KeyName of={w} /> <Chip tone="error">dead</Chip>
                </li>
              ))}
            </ul>
          )}
        </Panel>
        <Dead target={target} q={q} me={me} />
        <Alive target={target} q={q} me={me} />
      </div>
    </>
  );
}

export function QueuePage({ target, entry, instance, me }: { target: string; entry: string; instance: string; me: Me }) {
  const data = useData<List<Queue>>(at(["t", target, "queues"], { limit: "10000" }), "queues", target);
  return (
    <Answer of={data} what="the queue" title={entry}>
      {(list) => {
        const q = list.items.find((x) => x.entry === entry && x.instance === instance);
        if (q) return <Whole target={target} q={q} me={me} />;
        const unread = list.unread?.find((u) => u.entry === entry && (u.key?.text ?? instance) === instance);
        if (unread) return <Empty title="The queue could not be read"><bdi>{unread.why}</bdi></Empty>;
        return <Empty title="There is no such queue now">It may be empty: a queue without a job has no keys.</Empty>;
      }}
    </Answer>
  );
}
