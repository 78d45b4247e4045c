import type { List, Move, Step } from "../api";
import { useData } from "../data";
import { count } from "../format";
import { at } from "../route";
import { Ago, Name, Panel } from "../ui/bits";
import { Answer, None } from "../ui/states";
import { Table } from "../ui/table";

const phases = ["off", "dual-write", "backfill", "shadow", "live", "ramp-down", "complete"];

/** Phase shows how far a part is on the way from files to the server. */
function Phase({ move }: { move: Move }) {
  const is = phases.indexOf(move.phase);
  if (is < 0) return <span class="note">not known here</span>;
  return (
    <span class={`state ${move.changing ? "planned" : move.phase === "complete" ? "done" : "running"}`}>
      {move.phase} ({is + 1} of {phases.length}){move.changing && ", changing"}
    </span>
  );
}

/** Gates shows what a step needs: the gates that are closed, with what they have and want. */
function Gates({ step }: { step?: Step }) {
  if (!step) return <>none</>;
  const closed = step.gates.filter((g) => !g.open);
  const n = step.gates.length;
  if (closed.length === 0) return <>{step.to}: {n === 0 ? "no gates" : n === 1 ? "its gate is open" : `all ${count(n)} gates are open`}</>;
  return (
    <div class="gates">
      {step.to}: {n === 1 ? "its gate is" : `${count(closed.length)} of ${count(n)} gates are`} closed
      <ul class="plain">
        {closed.map((g) => (
          <li key={g.gate}>
            {g.gate} <span class="note">{g.has && `has ${g.has}`}{g.has && g.want && ", "}{g.want && `needs ${g.want}`}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

const said = (s?: Step) => (s ? [s.to, ...s.gates.filter((g) => !g.open).map((g) => g.gate)].join(" ") : "");

/** MigrationsPage shows each part of the migrations, its phase, and what its next step lacks. */
export function MigrationsPage({ target }: { target: string }) {
  const path = at(["t", target, "migrations"]);
  const data = useData<List<Move>>(path, "migrations", target);
  return (
    <>
      <header class="page">
        <h1>Migrations</h1>
        <p class="note">Records on their way from files to the server, part by part. keywright migrate moves them on.</p>
      </header>
      <Answer of={data} what="the migrations">
        {(list) => (
          <Panel wide title="Parts">
            <Table<Move>
              id="migrations"
              caption="Parts of migrations"
              rows={list.items}
              total={list.total}
              rowKey={(m) => `${m.migration} ${m.part}`}
              text={(m) => `${m.migration} ${m.part} ${m.phase} ${said(m.forward)}`}
              csv={path}
              cards
              empty={<None of={list} title="No migration is declared">Write a section migrations into the declaration to move JSON files to the server.</None>}
              columns={[
                { id: "part", title: "Part", sort: (m) => `${m.migration} ${m.part}`, cell: (m) => <Name text={`${m.migration}: ${m.part}`} /> },
                { id: "phase", title: "Phase", sort: (m) => phases.indexOf(m.phase), cell: (m) => <Phase move={m} /> },
                { id: "since", title: "Since", minor: true, sort: (m) => m.since ?? "", cell: (m) => (m.since ? <Ago at={m.since} /> : "") },
                { id: "decides", title: "Decides", minor: true, sort: (m) => m.authority, cell: (m) => m.authority },
                { id: "marks", title: "May differ", num: true, sort: (m) => m.marks, cell: (m) => count(m.marks) },
                { id: "unequal", title: "Differences", num: true, minor: true, sort: (m) => m.unequal, cell: (m) => `${count(m.unequal)} in ${count(m.compared)} reads` },
                { id: "next", title: "Next step", sort: (m) => said(m.forward), cell: (m) => (m.phase ? <Gates step={m.forward} /> : "") },
                { id: "back", title: "Step back", minor: true, sort: (m) => said(m.back), cell: (m) => (m.phase ? <Gates step={m.back} /> : "") },
                { id: "processes", title: "Processes", num: true, minor: true, sort: (m) => m.processes.length, cell: (m) => `${count(m.processes.filter((p) => p.live).length)} of ${count(m.processes.length)} live` },
              ]}
            />
          </Panel>
        )}
      </Answer>
    </>
  );
}
