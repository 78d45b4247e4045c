// Small things that all pages use.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Key, Severity } from "../api";
import { ago, duration, moment } from "../format";
import { useNow } from "../live";

// What would reorder or hide text is written as an escape, so that a name looks like what it is.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const escape = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escaped = (text: string): string => text.replace(unseen, escape);

/** shownText is a text with its lines, and without what would hide or reorder it. */
export const shownText = (text: string): string => text.replace(unseen, (c) => (c === "\n" || c === "\t" ? c : escape(c)));

/** Name shows text of any origin: it is never markup and cannot reorder its surroundings. */
export const Name = ({ text }: { text: string }) => <bdi class="name">{escaped(text) || "(empty)"}</bdi>;

/** KeyName shows a key. */
export const KeyName = ({ of }: { of: Key }) => (
  <span class="key">
    <Name text={of.text} />
    {of.base64 !== undefined && <span class="tag">not UTF-8</span>}
  </span>
);

export const Ago = ({ at }: { at: string }) => {
  const now = useNow();
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
};

/** When is a moment that may be to come. */
export const When = ({ at }: { at: string }) => {
  const left = (Date.parse(at) - useNow()) / 1000;
  return left > 0 ? (
    <time dateTime={at} title={moment(at)}>
      in {duration(left)}
    </time>
  ) : (
    <Ago at={at} />
  );
};

export const Level = ({ is }: { is: Severity | "danger" }) => (
  <span class={`level ${is === "danger" ? "error" : is}`}>{is}</span>
);

export const Chip = ({ tone, children }: { tone?: string; children: ComponentChildren }) => (
  <span class={`chip ${tone ?? ""}`}>{children}</span>
);

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea"); // pages without TLS have no clipboard
    area.value = text;
    area.className = "aside";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [done, set] = useState<boolean>();
  return (
    <button
      type="button"
      class="button small"
      onClick={async () => {
        set(await copy(text));
        setTimeout(() => set(undefined), 2000);
      }}
    >
      <span aria-live="polite">{done === undefined ? `Copy ${what}` : done ? "Copied" : "Not permitted"}</span>
    </button>
  );
}

/** Panel is a part of a page with a title. */
export function Panel(p: {
  title: ComponentChildren;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  wide?: boolean;
  below?: boolean; // the first screen does not show it: it is laid out when it comes into view
  children: ComponentChildren;
}) {
  return (
    <section class={`panel ${p.wide ? "wide" : ""} ${p.below ? "below" : ""}`}>
      <header>
        <h2>{p.title}</h2>
        {p.note && <p class="note">{p.note}</p>}
        {p.tools && <div class="tools">{p.tools}</div>}
      </header>
      {p.children}
    </section>
  );
}

/** Choice is a row of links of which one is the present view. */
export function Choice(p: { label: string; of: { name: string; href: string; on: boolean }[] }) {
  return (
    <nav class="choice" aria-label={p.label}>
      {p.of.map((o) => (
        <a key={o.name} href={o.href} aria-current={o.on ? "true" : undefined}>
          {o.name}
        </a>
      ))}
    </nav>
  );
}

/** Yaml tints names and comments; its text is only text. */
export function Yaml({ text }: { text: string }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre class="yaml" tabIndex={0}>
      <code>
        {lines.map((line, i) => {
          const [, indent = "", name = "", rest = ""] = /^(\s*(?:- )?)([\w."-]+:(?=\s|$))?(.*)$/.exec(line) ?? [];
          const hash = rest.search(/(^|\s)#/);
          const value = hash < 0 ? rest : rest.slice(0, hash);
          return (
            <span key={i}>
              {indent}
              {name && <b>{name}</b>}
              {value}
              {hash >= 0 && <i>{rest.slice(hash)}</i>}
              {"\n"}
            </span>
          );
        })}
      </code>
    </pre>
  );
}

/** Facts are names and what they are. */
export const Facts = ({ of }: { of: [string, ComponentChildren][] }) => (
  <dl class="facts">
    {of.map(
      ([name, value]) =>
        value !== undefined &&
        value !== "" &&
        value !== false && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

/** Figure is one large number of a page's head. */
export function Figure(p: { name: string; value: ComponentChildren; more?: ComponentChildren; tone?: string }) {
  return (
    <div class={`figure ${p.tone ?? ""}`}>
      <dt>{p.name}</dt>
      <dd>
        <strong>{p.value}</strong>
        {p.more && <span>{p.more}</span>}
      </dd>
    </div>
  );
}

export const Figures = ({ children }: { children: ComponentChildren }) => <dl class="figures">{children}</dl>;

/** Meter draws a part of a whole. */
export function Meter(p: { value: number; of: number; label: string }) {
  const share = p.of > 0 ? Math.min(1, p.value / p.of) : 0;
  return (
    <div
      class="meter"
      role="progressbar"
      aria-label={p.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span style={{ width: `${share * 100}%` }} />
    </div>
  );
}
