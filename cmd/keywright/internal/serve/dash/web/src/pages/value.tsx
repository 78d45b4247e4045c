// The value of a key, where operators may look at it. Nothing is read until it is asked for: each look is noted.
import { useState } from "preact/hooks";
import type { Bytes, Key, Value } from "../api";
import { ApiError, send } from "../data";
import { bytes, plural } from "../format";
import { at } from "../route";
import { Ago, Copy, Name, Panel, shownText } from "../ui/bits";
import { Table, type Column } from "../ui/table";
import { Empty } from "../ui/states";

const hidden: Record<NonNullable<Value["hidden"]>, [string, string]> = {
  sealed: ["This value is sealed", "What is declared encrypted, or looks like it, is never shown."],
  lock: ["This key is of a lock", "With the token in it the lock could be given back: it is not shown."],
  type: ["Values of this type cannot be shown", "keywright has no reader for them."],
};

const units: Record<string, string> = { string: "byte", list: "element", set: "member", zset: "member", hash: "field", stream: "entry" };

type Element = Value["elements"][number];

/** Text shows a text of any bytes, with its lines. */
function Text({ of }: { of: Bytes }) {
  if (of.sealed) return <span class="chip">sealed, {bytes(of.length)}</span>;
  const long = of.text.length > 600 || of.text.split("\n", 13).length > 12;
  return (
    <>
      {long ? (
        <bdi class="value long" role="region" aria-label="A long text" tabIndex={0}>{shownText(of.text)}</bdi>
      ) : (
        <bdi class="value">{shownText(of.text) || "(empty)"}</bdi>
      )}
      {of.base64 !== undefined && <span class="tag">not UTF-8</span>}
      {of.cut && <span class="tag">cut, of {bytes(of.length)}</span>}
    </>
  );
}

const Fields = ({ of }: { of: Element }) => (
  <dl class="facts">
    {of.fields?.map((f, i) => (
      <div key={i}>
        <dt><Name text={f.name.text} /></dt>
        <dd><Text of={f.value} /></dd>
      </div>
    ))}
    {(of.of ?? 0) > (of.fields?.length ?? 0) && <div><dt class="note">and {plural(of.of! - (of.fields?.length ?? 0), "field")} more</dt><dd /></div>}
  </dl>
);

const written = (b?: Bytes): string => (b === undefined ? "" : b.sealed ? "(sealed)" : b.text);

function columns(type: string): Column<Element>[] {
  const name = type === "hash" ? "Field" : "ID";
  const all: (Column<Element> | false)[] = [
    (type === "hash" || type === "stream") && { id: "name", title: name, sort: (e) => e.name!.text, cell: (e) => <Text of={e.name!} /> },
    type === "zset" && { id: "score", title: "Score", num: true, sort: (e) => Number(e.score), csv: (e) => e.score!, cell: (e) => e.score },
    type === "stream"
      ? { id: "fields", title: "Fields", csv: (e) => e.fields?.map((f) => `${f.name.text}=${written(f.value)}`).join(" ") ?? "", cell: (e) => <Fields of={e} /> }
      : { id: "value", title: type === "hash" ? "Value" : "Member", sort: (e) => written(e.value), cell: (e) => <Text of={e.value!} /> },
  ];
  return all.filter((c) => c !== false);
}

function Shown({ value }: { value: Value }) {
  if (!value.exists) return <Empty title="There is no such key now">It may have expired, or never been written.</Empty>;
  const type = value.type ?? "";
  if (value.hidden) return <Empty title={hidden[value.hidden][0]}>{hidden[value.hidden][1]}</Empty>;
  const rows = value.elements.map((e, i) => ({ ...e, i }));
  return (
    <>
      {value.cut && (
        <p class="banner warning" role="status">
          <span><strong>This is not all:</strong> {value.cut}.</span>
        </p>
      )}
      {type === "string" ? (
        <>
          <pre class="yaml" tabIndex={0}>
            <Text of={rows[0]!.value!} />
          </pre>
          {!rows[0]!.value!.sealed && (
            <Copy text={rows[0]!.value!.base64 ?? rows[0]!.value!.text} what={rows[0]!.value!.base64 === undefined ? "the value" : "the value as base64"} />
          )}
        </>
      ) : (
        <Table<Element & { i: number }>
          id="value"
          caption="The value"
          rows={rows}
          total={value.size}
          page={100}
          rowKey={(e) => String(e.i)}
          text={(e) => `${e.name?.text ?? ""} ${written(e.value)} ${e.fields?.map((f) => `${f.name.text} ${written(f.value)}`).join(" ") ?? ""}`}
          empty={<Empty title="There is nothing in it" />}
          columns={columns(type)}
        />
      )}
      <p class="note">
        {plural(value.size, units[type] ?? "element", type === "stream" ? "entries" : undefined)}, read <Ago at={value.at} />.
        {value.touched && " The key's idle time (OBJECT IDLETIME) began again by this look."}
      </p>
    </>
  );
}

export function ValuePanel({ target, of }: { target: string; of: Key }) {
  const [value, setValue] = useState<Value>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const look = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setValue(await send<Value>(at(["t", target, "value"]), { key: of.base64 === undefined ? { text: of.text } : { text: "", base64: of.base64 } }));
    } catch (e) {
      setProblem(e instanceof ApiError ? [e.failure.message, e.failure.hint].filter(Boolean).join(" ") : String(e));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      wide
      title="Value"
      note="Each look is noted, with your name and the key."
      tools={
        <button type="button" class="button small" disabled={busy} onClick={look}>
          {busy ? "Reading…" : value ? "Read it again" : "Show the value"}
        </button>
      }
    >
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {value && <Shown value={value} />}
    </Panel>
  );
}
