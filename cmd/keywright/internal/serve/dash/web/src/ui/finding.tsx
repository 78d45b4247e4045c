// Findings: what is wrong, what to do, and some of the keys.
import type { Finding } from "../api";
import { count } from "../format";
import { keyView, view } from "../route";
import { KeyName, Level, Name } from "./bits";
import { Empty } from "./states";

export function FindingList({ target, of }: { target: string; of: Finding[] }) {
  if (of.length === 0) return <Empty title="Nothing is wrong">Every key that was read is as declared.</Empty>;
  return (
    <ol class="findings">
      {of.map((f) => (
        <li key={f.fingerprint}>
          <p>
            <Level is={f.severity} /> <a class="code" href={view(["t", target, "findings"], { code: f.code })}>{f.code}</a>{" "}
            {f.entry && (
              <a href={view(["t", target, "e", f.entry])}>
                <Name text={f.entry} />
              </a>
            )}
            {f.count !== undefined && <span class="count">{count(f.count)} keys</span>}
          </p>
          <p>
            <bdi>{f.message}</bdi>
          </p>
          {f.fix && (
            <p class="note">
              <bdi>{f.fix}</bdi>
            </p>
          )}
          {f.examples && f.examples.length > 0 && (
            <ul class="names">
              {f.examples.map((x) => (
                <li key={`${x.db} ${x.key.base64 ?? x.key.text}`}>
                  <a href={keyView(target, x.key)}>
                    <KeyName of={x.key} />
                  </a>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  );
}
