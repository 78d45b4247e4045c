import type { CodeCount, Finding, List, Overview } from "../api";
import { useData } from "../data";
import { count, plural } from "../format";
import { at, useRoute, view } from "../route";
import { Choice, Panel } from "../ui/bits";
import { FindingList } from "../ui/finding";
import { Answer } from "../ui/states";
import { Rules } from "./overview";

function Codes({ target, of, code }: { target: string; of: CodeCount[]; code: string }) {
  return (
    <Choice
      label="Rule"
      of={[
        { name: "All", href: view(["t", target, "findings"]), on: code === "" },
        ...of.map((c) => ({ name: `${c.code} ${count(c.keys)}`, href: view(["t", target, "findings"], { code: c.code }), on: c.code === code })),
      ]}
    />
  );
}

export function FindingsPage({ target }: { target: string }) {
  const { query } = useRoute();
  const code = query.get("code") ?? "";
  const path = at(["t", target, "findings"], { code, entry: query.get("entry") ?? undefined });
  const overview = useData<Overview>(at(["t", target, "overview"]), "audit", target);
  const data = useData<List<Finding>>(path, "audit", target);
  return (
    <>
      <header class="page">
        <h1>Findings</h1>
        <p class="note">What the last audit found, the gravest first.</p>
      </header>
      <Answer of={overview} what="the rules">
        {(o) => (
          <>
            <Codes target={target} of={o.findings} code={code} />
            <div class="grid">
              {!code && o.findings.length > 1 && (
                <Panel wide title="By rule">
                  <Rules target={target} of={o.findings} read={o.at !== undefined} />
                </Panel>
              )}
              <Panel
                wide
                title={code || "All findings"}
                note={o.findings.find((f) => f.code === code)?.title}
                tools={
                  <a class="button small" href={`${path}${path.includes("?") ? "&" : "?"}format=csv`} download>
                    CSV
                  </a>
                }
              >
                <Answer of={data} what="the findings">
                  {(list) => (
                    <>
                      <FindingList target={target} of={list.items} />
                      {list.total > list.items.length && (
                        <p class="note">{plural(list.total - list.items.length, "finding")} more are not shown: choose a rule, or fetch the CSV.</p>
                      )}
                    </>
                  )}
                </Answer>
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </>
  );
}
