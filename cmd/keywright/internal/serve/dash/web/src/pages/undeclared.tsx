import type { Undeclared, UndeclaredGroup } from "../api";
import { useData } from "../data";
import { brief, bytes, count, plural } from "../format";
import { at, keyView, useRoute, view } from "../route";
import { Chip, Copy, Figure, Figures, KeyName, Name, Yaml } from "../ui/bits";
import { Answer, Empty } from "../ui/states";

function Group({ target, g, open }: { target: string; g: UndeclaredGroup; open: boolean }) {
  return (
    <details class="group" open={open}>
      <summary>
        <span class="key">
          <Name text={g.pattern} />
        </span>
        <span class="types">
          {g.software && <Chip>looks like {g.software}</Chip>} {Object.keys(g.types).map((t) => <Chip key={t}>{t}</Chip>)}
        </span>
        <span class="num">{plural(g.keys, "key")}</span>
        <span class="num">{bytes(g.bytes)}</span>
      </summary>
      <div class="two">
        <div>
          {g.near && (
            <p class="banner warning">
              <span>
                It may be a misspelling of{" "}
                <a href={view(["t", target, "e", g.near.entry])}>
                  <Name text={g.near.pattern} />
                </a>
                .
              </span>
            </p>
          )}
          <h2>Some of its keys</h2>
          <ul class="names">
            {g.examples.map((k) => (
              <li key={k.base64 ?? k.text}>
                <a href={keyView(target, k)}>
                  <KeyName of={k} />
                </a>
              </li>
            ))}
          </ul>
          {g.no_ttl > 0 && <p class="note">{count(g.no_ttl)} of them never expire.</p>}
        </div>
        <div>
          <h2>
            Proposed declaration {g.proposal && <Copy text={g.proposal} what="YAML" />}
          </h2>
          {g.proposal ? <Yaml text={g.proposal} /> : <p class="note">There is none for these keys.</p>}
        </div>
      </div>
    </details>
  );
}

export function UndeclaredPage({ target }: { target: string }) {
  const { query } = useRoute();
  const path = at(["t", target, "undeclared"], { limit: "1000" });
  const data = useData<Undeclared>(path, "audit", target);
  const wanted = query.get("pattern");
  return (
    <>
      <header class="page">
        <h1>Undeclared keys</h1>
        <p class="note">Keys that no entry declares, in groups, each with a declaration to begin with.</p>
      </header>
      <Answer of={data} what="undeclared keys">
        {(list) =>
          list.keys === 0 ? (
            <Empty title="Every key is declared">No key was met that the declaration does not know.</Empty>
          ) : (
            <>
              <Figures>
                <Figure name="Groups" value={count(list.total)} />
                <Figure name="Keys" value={brief(list.keys)} />
                <Figure name="Memory" value={bytes(list.bytes)} />
              </Figures>
              <div class="tabletools">
                <span class="count">{list.total > list.items.length ? `${count(list.items.length)} of ${count(list.total)}` : count(list.total)}</span>
                <a class="button small" href={`${path}&format=csv`} download>
                  CSV
                </a>
              </div>
              {list.items.map((g, i) => (
                <Group key={g.pattern} target={target} g={g} open={wanted ? g.pattern === wanted : i === 0} />
              ))}
              {list.others.keys > 0 && (
                <p class="note">
                  {plural(list.others.keys, "key")} more ({bytes(list.others.bytes)}) are in no group of this list{list.others.why.length > 0 && `: ${list.others.why.join("; ")}`}.
                </p>
              )}
            </>
          )
        }
      </Answer>
    </>
  );
}
