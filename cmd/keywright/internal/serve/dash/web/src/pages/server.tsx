import type { Server } from "../api";
import { useData } from "../data";
import { brief, bytes, count } from "../format";
import { at } from "../route";
import { Ago, Facts, Level, Meter, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { Table } from "../ui/table";

type Shard = NonNullable<Server["shards"]>[number];

function Memory({ s }: { s: Shard }) {
  if (s.memory === undefined) return <span class="note">not known</span>;
  if (s.max_memory === undefined) return <>{bytes(s.memory)} <span class="note">limit not known</span></>;
  if (s.max_memory <= 0) return <>{bytes(s.memory)} <span class="note">no limit</span></>;
  return (
    <>
      {bytes(s.memory)} <span class="note">of {bytes(s.max_memory)}</span>
      <Meter value={s.memory} of={s.max_memory} label={`Memory of ${s.address}`} />
    </>
  );
}

// A figure that the server does not tell is no zero.
const told = (n: number | undefined, show: (n: number) => string) => (n === undefined ? "not known" : show(n));

function Advice({ of, blind }: { of: Server["advice"]; blind: boolean }) {
  if (of.length === 0 && blind) return <Empty title="Nothing in what could be looked at">The server does not tell all of it.</Empty>;
  if (of.length === 0) return <Empty title="The doctor has nothing to say">Persistence, memory, eviction and access are as they should be.</Empty>;
  return (
    <ol class="findings">
      {of.map((a) => (
        <li key={a.what}>
          <p>
            <Level is={a.level} /> <strong><bdi>{a.what}</bdi></strong>
          </p>
          <p><bdi>{a.why}</bdi></p>
          <p class="note"><bdi>{a.fix}</bdi></p>
        </li>
      ))}
    </ol>
  );
}

export function ServerPage({ target }: { target: string }) {
  const path = at(["t", target, "server"]);
  const data = useData<Server>(path, "server", target);
  return (
    <>
      <header class="page">
        <h1>Server</h1>
        <p class="note">
          What it is, and what should be otherwise. {data.data?.at && <>Read <Ago at={data.data.at} />.</>}
        </p>
      </header>
      <Answer of={data} what="the server">
        {(s) => (
          <div class="grid">
            {s.shards && <Panel wide title={s.shards.length > 1 ? "Shards" : "Memory and clients"}>
              <Table<Shard>
                id="shards"
                caption="Servers"
                rows={s.shards}
                rowKey={(x) => x.address}
                text={(x) => `${x.address} ${x.role}`}
                empty={<Empty title="No server was asked">This is a snapshot file.</Empty>}
                columns={[
                  { id: "address", title: "Address", sort: (x) => x.address, cell: (x) => <><Name text={x.address} /> {x.away ? <span class="problem">does not answer: <bdi>{x.away}</bdi></span> : <span class="note">{x.role}</span>}</> },
                  { id: "version", title: "Version", minor: true, sort: (x) => x.version, cell: (x) => x.version },
                  { id: "memory", title: "Memory", num: true, sort: (x) => x.memory ?? -1, cell: (x) => <Memory s={x} /> },
                  { id: "keys", title: "Keys", num: true, sort: (x) => x.keys ?? -1, cell: (x) => told(x.keys, count) },
                  { id: "clients", title: "Clients", num: true, minor: true, sort: (x) => x.clients ?? -1, cell: (x) => told(x.clients, count) },
                  { id: "ops", title: "Commands per second", num: true, minor: true, sort: (x) => x.ops ?? -1, cell: (x) => told(x.ops, brief) },
                ]}
              />
            </Panel>}
            <Panel title="What should be otherwise">
              <Advice of={s.advice} blind={(s.not_known ?? []).length > 0} />
            </Panel>
            {s.not_known && s.not_known.length > 0 && <Panel title="Not known">
              <Facts of={s.not_known.map((f): [string, preact.ComponentChild] => [f.name, <bdi>{f.value}</bdi>])} />
            </Panel>}
            <Panel title="Facts">
              <Facts of={s.facts.map((f): [string, preact.ComponentChild] => [f.name, <bdi>{f.value}</bdi>])} />
            </Panel>
          </div>
        )}
      </Answer>
    </>
  );
}
