// What is wrong now, the worst first: the first thing that a person on call sees.
import type { NowItem, NowList } from "../api";
import { useData } from "../data";
import { count } from "../format";
import { at, view } from "../route";
import { Ago, Level, Name, Panel } from "../ui/bits";
import { Truth } from "../ui/states";

const grave = new Set(["server-away", "memory-short", "replica-lost", "lease-lost", "queue-late", "stream-late"]);

function Wrong({ of, several }: { of: NowItem; several: boolean }) {
  return (
    <li>
      <p>
        <Level is={grave.has(of.kind) ? "error" : "warning"} />{" "}
        <a href={view(["t", of.target, ...(of.page ?? [])])}>
          <bdi>{of.text}</bdi>
        </a>
      </p>
      <p class="note">
        {several && (
          <>
            <Name text={of.target} />,{" "}
          </>
        )}
        since <Ago at={of.since} />
        {of.silenced && ", webhooks are not told"}
        {of.next && (
          <>
            . Next: <bdi>{of.next}</bdi>
          </>
        )}
      </p>
    </li>
  );
}

// how many parts that are not known are listed
const mostUnknown = 10;

function Unknown({ of, several }: { of: NowList["not_known"]; several: boolean }) {
  return (
    <>
      <p class="note">Not all is known:</p>
      <ul class="note unknown">
        {of.slice(0, mostUnknown).map((u) => (
          <li key={`${u.target} ${u.part}`}>
            {several && (
              <>
                <Name text={u.target} />,{" "}
              </>
            )}
            {u.part}: <bdi>{u.why}</bdi>
          </li>
        ))}
      </ul>
      {of.length > mostUnknown && <p class="note">{count(of.length - mostUnknown)} more are not known.</p>}
    </>
  );
}

/** Now lists what is wrong with a target, or with all of them, and what is not known. Quiet is one line. */
export function Now({ target }: { target?: string }) {
  const data = useData<NowList>(target === undefined ? at(["now"]) : at(["t", target, "now"]), "now", target);
  const now = data.data;
  if (!now) return null;
  if (now.quiet && !data.error) return <p class="calm">Quiet: nothing is wrong now.</p>;
  const more = now.total - now.items.length + now.left_out;
  return (
    <Panel wide title={now.total > 0 ? `Wrong now: ${count(now.total + now.left_out)}` : "Now"}>
      <Truth of={{}} error={data.error} retry={data.reload} />
      {now.items.length > 0 ? (
        <ol class="findings now">
          {now.items.map((w) => (
            <Wrong key={w.id} of={w} several={target === undefined} />
          ))}
        </ol>
      ) : (
        <p class="note">Nothing is known to be wrong.</p>
      )}
      {now.not_known.length > 0 && <Unknown of={now.not_known} several={target === undefined} />}
      {more > 0 && <p class="note">{count(more)} more are not listed.</p>}
    </Panel>
  );
}
