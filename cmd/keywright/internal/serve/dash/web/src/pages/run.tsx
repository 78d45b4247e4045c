import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LeftAlone, Me, Plan, RunState } from "../api";
import { ApiError, send, useData } from "../data";
import { bytes, count, percent } from "../format";
import { newer, useRuns } from "../live";
import { at, view } from "../route";
import { mayAct, whyNot } from "../ui/act";
import { Ago, Chip, Facts, Figure, Figures, KeyName, Meter, Name, Panel } from "../ui/bits";
import { Dialog } from "../ui/dialog";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";
import { busy, moving, RunWord } from "./runs";

type Part = Plan["entries"][number];

/** destroys tells verbs whose effect cannot be undone: the name of what is meant must be typed. */
const destroys = (verb: string): boolean => /discard|clean|delete|cancel/.test(verb);

const names: Record<string, string> = { entry: "Entry", instance: "Queue", error: "With the error", text: "With the text", id: "The job", key: "The key", owner: "Of the owner", match: "That match", where: "Where" };

/** Meant says what a plan is about: what it was asked for, and how many there are. */
function Meant({ p }: { p: Plan }) {
  const select = Object.entries(p.select ?? {}).filter(([name, text]) => text && !(name === "instance" && text === "-"));
  if (select.length === 0) return null;
  const all = /retry|discard/.test(p.verb) && !select.some(([name]) => name === "error" || name === "text" || name === "id");
  return (
    <div class={`banner ${destroys(p.verb) ? "warning" : ""} meant`}>
      <Facts
        of={[
          ...select.map(([name, text]): [string, ComponentChildren] => [names[name] ?? name, <Name text={text} />]),
          ["Meant", p.state === "planning" ? "being counted" : <strong>{all ? `all dead jobs: ${count(p.total)}` : count(p.total)}</strong>],
        ]}
      />
    </div>
  );
}

function Confirm({ p, go, close }: { p: Plan; go: () => void; close: () => void }) {
  const name = p.entries[0]?.entry || p.verb;
  const [typed, type] = useState("");
  const must = destroys(p.verb);
  return (
    <Dialog title={p.title} close={close}>
      <form
        method="dialog"
        onSubmit={(e) => {
          e.preventDefault();
          if (!must || typed === name) go();
        }}
      >
        <Meant p={p} />
        <p>
          {count(p.change)} will be changed{must ? ", and this cannot be undone." : "."}
        </p>
        {must && (
          <label class="field">
            <span>
              Type <b><Name text={name} /></b> to go on
            </span>
            <input value={typed} autocomplete="off" spellcheck={false} onInput={(e) => type(e.currentTarget.value)} />
          </label>
        )}
        <p class="buttons">
          <button type="submit" class={`button ${must ? "danger" : "primary"}`} disabled={must && typed !== name}>
            {must ? "Do it" : "Apply the plan"}
          </button>
          <button type="button" class="button" onClick={close}>
            Not now
          </button>
        </p>
      </form>
    </Dialog>
  );
}

const goesOn: RunState[] = ["planned", "stopped", "interrupted", "failed"];

function Buttons({ target, p, me, reload }: { target: string; p: Plan; me: Me; reload: () => void }) {
  const [asking, ask] = useState(false);
  const [problem, setProblem] = useState<string>();
  const act = async (what: "apply" | "stop") => {
    ask(false);
    setProblem(undefined);
    try {
      await send(at(["t", target, "plans", p.id, what]));
    } catch (e) {
      setProblem(e instanceof ApiError ? [e.failure.message, e.failure.hint].filter(Boolean).join(" ") : String(e));
    }
    reload();
  };
  const no = whyNot(me);
  return (
    <div class="buttons">
      {goesOn.includes(p.state) &&
        p.change > 0 &&
        (no ? (
          <span class="note">{no}</span>
        ) : (
          <button type="button" class={`button ${destroys(p.verb) ? "danger" : "primary"}`} onClick={() => ask(true)}>
            {p.state === "planned" ? "Apply…" : "Go on…"}
          </button>
        ))}
      {busy(p) && mayAct(me) && (
        <button type="button" class="button" disabled={p.state === "stopping"} onClick={() => void act("stop")}>
          {p.state === "stopping" ? "Stopping…" : "Stop"}
        </button>
      )}
      {problem && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      {asking && <Confirm p={p} go={() => void act("apply")} close={() => ask(false)} />}
    </div>
  );
}

function Reasons({ of }: { of: LeftAlone[] }) {
  return (
    <ol class="findings">
      {of.map((r) => (
        <li key={r.code}>
          <p>
            <Chip tone="warning">{r.code}</Chip> {r.keys > 0 && count(r.keys)}
          </p>
          <p>
            <bdi>{r.what}</bdi>
          </p>
          {r.fix && <p class="note">{r.fix}</p>}
        </li>
      ))}
    </ol>
  );
}

type Change = Plan["changes"][number];

function Changes({ p }: { p: Plan }) {
  return (
    <Table<Change>
      id="changes"
      caption="The first changes"
      rows={p.changes}
      total={p.listed}
      rowKey={(c) => `${c.verb} ${c.db} ${c.key.base64 ?? c.key.text}`}
      columns={[
        { id: "key", title: "What", csv: (c) => c.key.text, cell: (c) => <KeyName of={c.key} /> },
        { id: "before", title: "Is", csv: (c) => c.before ?? "", cell: (c) => <bdi>{c.before}</bdi> },
        { id: "after", title: "Would be", csv: (c) => c.after ?? "", cell: (c) => <bdi>{c.after}</bdi> },
      ]}
    />
  );
}

function Parts({ p }: { p: Plan }) {
  return (
    <Table<Part>
      id="parts"
      caption="What the plan would change"
      rows={p.entries}
      rowKey={(e) => e.entry}
      empty={<Empty title="Nothing would be changed" />}
      columns={[
        {
          id: "entry",
          title: "Entry",
          csv: (e) => e.entry,
          cell: (e) => (
            <>
              <Name text={e.entry || "undeclared keys"} />
              {e.examples?.map((x) => (
                <div class="note" key={`${x.db} ${x.key.text}`}>
                  <KeyName of={x.key} />
                </div>
              ))}
            </>
          ),
        },
        { id: "keys", title: "Meant", num: true, minor: true, csv: (e) => e.keys, cell: (e) => count(e.keys) },
        { id: "change", title: "Changed", num: true, csv: (e) => e.change, cell: (e) => count(e.change) },
        { id: "leave", title: "Left alone", num: true, csv: (e) => e.leave, cell: (e) => count(e.leave) },
        { id: "bytes", title: "Memory", num: true, minor: true, csv: (e) => e.bytes, cell: (e) => bytes(e.bytes) },
      ]}
    />
  );
}

export function RunPage({ target, id, me }: { target: string; id: string; me: Me }) {
  const path = at(["t", target, "plans", id]);
  const data = useData<Plan>(path, "runs", target);
  const told = useRuns().get(id);
  useEffect(() => {
    if (told && !busy(told.run)) data.reload();
  }, [told?.run.state]);
  return (
    <Answer of={data} what="the plan" title="Plan">
      {(fetched) => {
        const p: Plan = newer(fetched, data.asked, told);
        return (
          <>
            <header class="page">
              <nav class="crumbs" aria-label="Place">
                <a href={view(["t", target, "runs"])}>Runs and plans</a>
                <span>{p.verb}</span>
              </nav>
              <h1>
                <Name text={p.title} /> <RunWord of={p.state} />
              </h1>
              <p class="note">
                Made <Ago at={p.at} />
                {p.by && (
                  <>
                    {" "}
                    by <Name text={p.by} />
                  </>
                )}
                {p.ended && (
                  <>
                    , ended <Ago at={p.ended} />
                  </>
                )}
                . {p.state === "planned" && "Nothing was changed yet."}
              </p>
            </header>
            <Meant p={p} />
            {p.problem && (
              <p class="banner error" role="alert">
                <bdi>{p.problem}</bdi> {p.hint && <bdi>({p.hint})</bdi>}
              </p>
            )}
            {moving(p) && (
              <div class="banner busy" role="status">
                <p>
                  <strong>{count(p.done)}</strong> of {count(p.total)} are done{p.total > 0 && ` (${percent(Math.min(1, p.done / p.total))})`}.
                </p>
                <Meter value={p.done} of={p.total} label="Progress" />
              </div>
            )}
            <Figures>
              <Figure name="Would be changed" value={count(p.change)} />
              <Figure name="Left alone" value={count(p.leave)} />
              <Figure name="Done" value={count(p.done)} more={`of ${count(p.total)}`} tone={p.state === "done" ? "good" : ""} />
            </Figures>
            {p.incomplete.map((w) => (
              <p class="banner warning" key={w.what}>
                Not all was seen: <bdi>{w.what}</bdi>
              </p>
            ))}
            <Buttons target={target} p={p} me={me} reload={data.reload} />
            <div class="grid">
              <Panel wide title="By entry">
                <Parts p={p} />
              </Panel>
              {p.refusals.length > 0 && (
                <Panel title="Refused or left alone">
                  <Reasons of={p.refusals} />
                </Panel>
              )}
              {p.did && (
                <Panel title="What was done">
                  <Facts
                    of={[
                      ["Changed", count(p.did.changed)],
                      ["Gone before", count(p.did.gone)],
                      ["Left alone", count(p.did.left_alone)],
                      ["Refused by the server", count(p.did.refused)],
                      ["Not known", count(p.did.unknown)],
                    ]}
                  />
                  <Reasons of={p.did_left} />
                </Panel>
              )}
              {p.listed > 0 && (
                <Panel wide title={`Changes: ${count(p.listed)}`}>
                  <Changes p={p} />
                </Panel>
              )}
            </div>
          </>
        );
      }}
    </Answer>
  );
}
