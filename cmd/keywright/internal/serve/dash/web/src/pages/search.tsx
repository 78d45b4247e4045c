import { useState } from "preact/hooks";
import type { Explained, Me } from "../api";
import { useData } from "../data";
import { bytes, duration } from "../format";
import { explained, setQuery, useRoute, view } from "../route";
import { Facts, KeyName, Name, Panel } from "../ui/bits";
import { Answer, Empty } from "../ui/states";
import { ValuePanel } from "./value";

const verdicts: Record<Explained["status"], [string, string]> = {
  declared: ["good", "is declared"],
  legacy: ["warning", "has an old name of its entry"],
  foreign: ["", "belongs to other software"],
  owned: ["error", "is undeclared, in a place that the declaration owns"],
  undeclared: ["warning", "is undeclared"],
};

function Live({ x, failed }: { x: Explained; failed?: string }) {
  const live = x.live;
  if (failed) return <p class="banner error"><bdi>{failed}</bdi></p>;
  if (!live) return <Empty title="The server was not asked">A snapshot file does not answer for a single key.</Empty>;
  if (!live.exists) return <Empty title="There is no such key now">It may have expired, or never been written.</Empty>;
  return (
    <Facts
      of={[
        ["Type", live.type],
        ["Encoding", live.encoding],
        ["Expires in", live.ttl_seconds === null ? "never" : duration(live.ttl_seconds)],
        ["Memory", live.bytes === null ? "unknown" : bytes(live.bytes)],
        ["Server", <Name text={live.node} />],
        ["Slot", String(x.slot)],
      ]}
    />
  );
}

function Answered({ target, x, failed, me }: { target: string; x: Explained; failed?: string; me: Me }) {
  const [is, words] = verdicts[x.status];
  const tone = is === "good" && x.wrong?.length ? "warning" : is;
  return (
    <>
      <p class={`verdict ${tone}`}>
        <KeyName of={x.key} /> {words}
        {x.entry && (
          <>
            :{" "}
            <a href={view(["t", target, "e", x.entry])}>
              <Name text={x.entry} />
            </a>
          </>
        )}
      </p>
      <div class="grid">
        <Panel title="By its name">
          <Facts
            of={[
              ["Pattern", x.pattern && <span class="key"><Name text={x.pattern} /></span>],
              ["Foreign by", x.glob && <span class="key"><Name text={x.glob} /></span>],
              ["Type", x.type],
              ["TTL", x.ttl],
              ["Owner", x.owner && <Name text={x.owner} />],
              ["Documentation", x.doc],
              ...(x.captures ?? []).map((c): [string, preact.ComponentChild] => [`{${c.name}}`, <><KeyName of={c.value} /> <span class="note">{c.type}</span></>]),
            ]}
          />
          {x.near && x.near.length > 0 && (
            <>
              <p>Did the writer mean one of these?</p>
              <ul class="names">
                {x.near.map((n) => (
                  <li key={n.pattern}>
                    <a href={view(["t", target, "e", n.entry])}>
                      <Name text={n.pattern} />
                    </a>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Panel>
        <Panel title="On the server, now">
          <Live x={x} failed={failed} />
        </Panel>
        {x.wrong && x.wrong.length > 0 && (
          <Panel wide title="What is wrong with it">
            <ul class="wrong">
              {x.wrong.map((w) => (
                <li key={w}>
                  <bdi>{w}</bdi>
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {me.show_values && x.live?.exists && <ValuePanel key={x.key.base64 ?? x.key.text} target={target} of={x.key} />}
      </div>
    </>
  );
}

export function SearchPage({ target, me }: { target: string; me: Me }) {
  const { query } = useRoute();
  const key = query.get("key") ?? "";
  const [text, setText] = useState(key);
  const [before, setBefore] = useState(key);
  if (before !== key) {
    setBefore(key); // another link led here
    setText(key);
  }
  const path = explained(target, query);
  const data = useData<Explained>(path, "explain", target);
  return (
    <>
      <header class="page">
        <h1>Explain a key</h1>
        <p class="note">Which entry declares it, what the server has, and what is wrong with it.</p>
      </header>
      <form
        class="search"
        role="search"
        onSubmit={(e) => {
          e.preventDefault();
          setQuery({ key: text, base64: undefined });
        }}
      >
        <input
          type="search"
          name="key"
          aria-label="Key"
          placeholder="user:7:profile"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
        />
        <button type="submit" class="button primary">
          Explain
        </button>
      </form>
      {path ? (
        <Answer of={data} what="what there is to say of the key">
          {(x) => <Answered target={target} x={x} failed={x.failed?.what} me={me} />}
        </Answer>
      ) : (
        <Empty title="Write a key, exactly as it is on the server" />
      )}
    </>
  );
}
