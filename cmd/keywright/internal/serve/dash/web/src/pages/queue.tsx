import { useState } from "preact/hooks";
import type { DeadJob, DeadJobs, Lane, List, Me, Queue, QueueDetail } from "../api";
import { request, useData } from "../data";
import { brief, count, duration, plural } from "../format";
import { at, setQuery, useRoute, view } from "../route";
import { Act } from "../ui/act";
import { Ago, Chip, Figure, Figures, KeyName, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";
import { QueueName } from "./queues";

const dead = (target: string, q: Queue, query: URLSearchParams): string =>
  at(["t", target, "queues", q.entry, q.instance, "dead"], { error: query.get("error") ?? undefined, text: query.get("text") ?? undefined });

/** Jobs lists what matches, a page at a time: there may be hundreds of thousands. */
function Jobs({ path, target }: { path: string; target: string }) {
  const first = useData<DeadJobs>(path, "dead", target); // asked on opening: each answer reads thousands of jobs
  const [more, setMore] = useState<{ of: string; items: DeadJob[]; cursor?: string }>({ of: path, items: [] });
  const mine = more.of === path ? more : { of: path, items: [] as DeadJob[], cursor: undefined };
  return (
    <Answer of={first} what="dead jobs">
      {(list) => {
        const cursor = mine.items.length > 0 ? mine.cursor : list.cursor;
        return (
          <>
            <Table<DeadJob>
              id="dead"
              caption="Dead jobs"
              rows={[...list.items, ...mine.items]}
              total={list.total}
              page={100_000}
              rowKey={(j) => j.id.base64 ?? j.id.text}
              csv={path}
              empty={<Empty title="No dead job matches" />}
              columns={[
                { id: "id", title: "Job", cell: (j) => <KeyName of={j.id} /> },
                { id: "reason", title: "Error", cell: (j) => <bdi class="reason">{j.reason}</bdi> },
                { id: "attempts", title: "Attempts", num: true, minor: true, sort: (j) => j.attempts, cell: (j) => count(j.attempts) },
                { id: "crashes", title: "Crashes", num: true, minor: true, sort: (j) => j.crashes, cell: (j) => count(j.crashes) },
                { id: "at", title: "Died", num: true, minor: true, sort: (j) => j.at ?? "", cell: (j) => (j.at ? <Ago at={j.at} /> : "–") },
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
  const path = dead(target, q, query);
  const matched = useData<DeadJobs>(path, "dead", target);
  const groups = useData<QueueDetail>(at(["t", target, "queues", q.entry, q.instance]), "dead", target).data;
  const n = matched.data?.total ?? 0;
  const all = !matched.data?.cut || n > (matched.data.looked_at ?? 0); // not all were looked at: a plan counts them
  const select = { entry: q.entry, instance: q.instance, error, text };
  return (
    <Panel
      wide
      title="Dead jobs"
      note="They failed as often as they may."
      tools={
        q.dead > 0 && (
          <>
            <Act me={me} target={target} verb="queues.retry" select={select} words={all ? `Retry all ${count(n)} that match` : "Retry all that match"} off={n === 0} />
            <Act me={me} target={target} verb="queues.discard" select={select} words="Discard them" tone="danger" off={n === 0} />
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
            {groups?.errors_cut && <p class="note">Of the latest {count(groups.looked_at)} dead jobs: there are more.</p>}
          </div>
          <input
            type="search"
            class="wide"
            aria-label="Text in the job's name or error"
            placeholder="Text in the job's name or error"
            value={text}
            onChange={(e) => setQuery({ text: e.currentTarget.value })}
          />
          <Jobs path={path} target={target} />
        </>
      )}
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
        <Figure name="Dead" value={brief(q.dead)} tone={q.dead > 0 ? "error" : "good"} />
      </Figures>
      <div class="grid">
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
        return q ? <Whole target={target} q={q} me={me} /> : <Empty title="There is no such queue now">It may be empty: a queue without a job has no keys.</Empty>;
      }}
    </Answer>
  );
}
