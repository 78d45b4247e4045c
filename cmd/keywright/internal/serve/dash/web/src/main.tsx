import { render, type ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { List, Me, Target } from "./api";
import { ahead, ApiError, changed, request, setMe, useData } from "./data";
import * as live from "./live";
import { constructs } from "./pages/constructs";
import { EntryPage } from "./pages/entry";
import { FindingsPage } from "./pages/findings";
import { FleetPage } from "./pages/fleet";
import { JanitorPage } from "./pages/janitor";
import { MigrationsPage } from "./pages/migrations";
import { overviewAhead, OverviewPage } from "./pages/overview";
import { QueuePage } from "./pages/queue";
import { QueuesPage } from "./pages/queues";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { SearchPage } from "./pages/search";
import { ServerPage } from "./pages/server";
import { SignIn } from "./pages/signin";
import { UndeclaredPage } from "./pages/undeclared";
import { parse, useRoute } from "./route";
import { applyScheme, Shell, titleOf } from "./shell";
import { Answer, Empty, Failed, Loading } from "./ui/states";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";

const targetsAt = "api/v1/targets";

type Page = (target: string, rest: string[], me: Me) => ComponentChildren;

const pages = new Map<string, Page>([
  ["", (target) => <OverviewPage target={target} />],
  ["e", (target, [name = ""], me) => <EntryPage target={target} name={name} me={me} />],
  ["search", (target, _rest, me) => <SearchPage target={target} me={me} />],
  ["findings", (target) => <FindingsPage target={target} />],
  ["undeclared", (target) => <UndeclaredPage target={target} />],
  [
    "queues",
    (target, [entry, instance = "-"], me) =>
      entry ? <QueuePage target={target} entry={entry} instance={instance} me={me} /> : <QueuesPage target={target} />,
  ],
  ["janitor", (target) => <JanitorPage target={target} />],
  ["migrations", (target) => <MigrationsPage target={target} />],
  ["server", (target) => <ServerPage target={target} />],
  ["runs", (target, [id], me) => (id ? <RunPage target={target} id={id} me={me} /> : <RunsPage target={target} me={me} />)],
]);
for (const [id, of] of constructs) pages.set(id, (target) => of({ target }));

function Views({ me }: { me: Me }) {
  const { path } = useRoute();
  const targets = useData<List<Target>>(targetsAt, "targets");
  const items = targets.data?.items;
  const only = items?.length === 1 && items[0]!.state !== "broken" ? items[0]!.id : undefined;
  const target = path[0] === "t" ? path[1] : path.length === 0 ? only : undefined;
  const id = path[0] === "t" ? (path[2] ?? "") : "";
  const page = target === undefined ? undefined : pages.get(id);
  const known = items?.find((t) => t.id === target);
  const place = [path[3] ?? titleOf(id), known?.name, "keywright"].filter(Boolean).join(" · ");
  useEffect(() => void (document.title = place), [place]);
  useEffect(() => scrollTo(0, 0), [path.join("/")]);
  const body = (): ComponentChildren => {
    if (path.length === 0 && !items) {
      return (
        <Answer of={targets} what="the servers" title="Fleet">
          {() => null}
        </Answer>
      );
    }
    if (path.length === 0 && target === undefined) return <FleetPage targets={targets} />;
    if (target !== undefined && page) return <div key={path.join("/")}>{page(target, path.slice(3), me)}</div>;
    return (
      <>
        <h1 class="aside">No such page</h1>
        <Empty title="There is no such page">The address may be of an older version.</Empty>
      </>
    );
  };
  return (
    <Shell me={me} targets={targets.data} target={target} page={id === "e" ? "" : id}>
      {body()}
    </Shell>
  );
}

/** App asks which user this is, and shows the pages or asks for a token. */
function App() {
  const [me, set] = useState<Me>();
  const [error, setError] = useState<ApiError>();
  const [out, setOut] = useState(false);
  const lost = useRef(false);
  const ask = useCallback(() => {
    request<Me>("api/v1/me").then(
      (m) => {
        setMe(m);
        set(m);
        setError(undefined);
        setOut(false);
        live.open();
        if (lost.current) changed(); // what was fetched is of no user
        lost.current = false;
      },
      (e: unknown) => e instanceof ApiError && e.status !== 401 && setError(e),
    );
  }, []);
  useEffect(() => {
    const signedOut = () => {
      live.close();
      lost.current = true;
      setOut(true);
    };
    addEventListener("signed-out", signedOut);
    ask();
    return () => removeEventListener("signed-out", signedOut);
  }, []);
  useEffect(() => {
    if (!error) return;
    const timer = setTimeout(ask, 3000);
    return () => clearTimeout(timer);
  }, [error]);
  if (out) return <SignIn done={ask} />;
  if (me) return <Views me={me} />;
  return <main class="signin"><h1 class="aside">keywright</h1>{error ? <Failed error={error} retry={ask} /> : <Loading what="keywright" />}</main>;
}

/** begin asks for what the first page needs at once: each answer that is waited for before the next takes its time. */
function begin(): void {
  const { path, query } = parse(location.hash);
  ahead(targetsAt, "targets");
  if (path[0] === "t" && path.length === 2) overviewAhead(path[1]!, query);
}

applyScheme();
begin();
render(<App />, document.getElementById("app")!);
