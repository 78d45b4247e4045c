import type { Job, JobState, List } from "../api";
import { useData } from "../data";
import { count, moment } from "../format";
import { at } from "../route";
import { Ago, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";

const words: Record<JobState, string> = { idle: "in order", running: "runs", waiting: "waits", failed: "failed" };
const tones: Record<JobState, string> = { idle: "done", running: "running", waiting: "planned", failed: "failed" };

/** JanitorPage shows what is done again and again. */
export function JanitorPage({ target }: { target: string }) {
  const path = at(["t", target, "janitor"]);
  const data = useData<List<Job>>(path, "janitor", target);
  return (
    <>
      <header class="page">
        <h1>Janitor</h1>
        <p class="note">What the declaration says is done again and again.</p>
      </header>
      <Answer of={data} what="the jobs">
        {(list) => (
          <Panel wide title="Jobs">
            <Table<Job>
              id="janitor"
              caption="Jobs of the janitor"
              rows={list.items}
              total={list.total}
              rowKey={(j) => j.name}
              text={(j) => `${j.name} ${j.when} ${j.doc ?? ""} ${words[j.state]} ${j.did ?? ""}`}
              csv={path}
              empty={
                <Empty title="The janitor does nothing here">
                  Write a section janitor into the declaration, and start keywright serve with --janitor.
                </Empty>
              }
              columns={[
                { id: "name", title: "Job", sort: (j) => j.name, cell: (j) => <span class="when"><Name text={j.name} /></span> },
                { id: "when", title: "What and when", minor: true, sort: (j) => j.when, cell: (j) => j.when },
                {
                  id: "state",
                  title: "State",
                  sort: (j) => ["failed", "waiting", "running", "idle"].indexOf(j.state),
                  cell: (j) => <span class={`state ${tones[j.state]}`}>{words[j.state]}</span>,
                },
                { id: "did", title: "Latest", cell: (j) => <Name text={j.why ?? j.did ?? "nothing yet"} /> },
                { id: "last", title: "Ended", sort: (j) => j.last_run ?? "", cell: (j) => (j.last_run ? <Ago at={j.last_run} /> : "never") },
                { id: "good", title: "Last good", minor: true, sort: (j) => j.last_good ?? "", cell: (j) => (j.last_good ? <Ago at={j.last_good} /> : "never") },
                { id: "next", title: "Next", minor: true, sort: (j) => j.next ?? "", cell: (j) => (j.next ? <span class="when">{moment(j.next)}</span> : "") },
                { id: "failed", title: "Failed", num: true, minor: true, sort: (j) => j.failed, cell: (j) => `${count(j.failed)} of ${count(j.runs)}` },
              ]}
            />
          </Panel>
        )}
      </Answer>
    </>
  );
}
