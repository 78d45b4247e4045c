// A panel with a history, and the choice of how far back it goes.
import type { History } from "../api";
import { useData } from "../data";
import { save } from "../download";
import { at, setQuery, useRoute } from "../route";
import { Panel } from "./bits";
import { Chart, table } from "./chart";
import { Answer, Empty } from "./states";

const ranges: [string, string, number][] = [
  ["", "what there is", 0], // of 30 days at most, as the server decides
  ["24h", "24 hours", 86_400],
  ["7d", "7 days", 7 * 86_400],
  ["30d", "30 days", 30 * 86_400],
  ["90d", "90 days", 90 * 86_400],
  ["1y", "a year", 366 * 86_400],
];

const rowsOf = (h: History): (string | number)[][] => {
  const [times, ...columns] = table(h);
  return [
    ["time", ...h.series.map((s) => s.name)],
    ...times.map((t, i) => [new Date(t * 1000).toISOString(), ...columns.map((c) => c[i] ?? "")]),
  ];
};

/** shown are the six series that are largest now: more lines cannot be told apart. */
function shown(h: History): History {
  const last = (s: History["series"][number]): number => s.points[s.points.length - 1]?.[1] ?? 0;
  return h.series.length <= 6 ? h : { ...h, series: [...h.series].sort((a, b) => last(b) - last(a)).slice(0, 6) };
}

interface Props {
  title: string;
  target: string;
  metrics: Metric[];
  entry?: string;
  none?: string;
}

/** Metric is a figure that has a history; where it is of another row than the page, of and row say which. */
export interface Metric {
  id: string;
  name: string;
  write: (n: number) => string;
  of?: string;
  row?: string;
}

/** from is a moment so many seconds ago, in steps: an address that changes all the time could not be kept. */
function from(seconds: number): string {
  const step = Math.max(60, Math.floor(seconds / 300)) * 1000;
  return new Date(Math.floor((Date.now() - seconds * 1000) / step) * step).toISOString();
}

const rangeOf = (query: URLSearchParams) => ranges.find((r) => r[0] === query.get("range")) ?? ranges[0]!;

/** historyAt is the address of the figures that a view's query asks for. */
export const historyAt = (target: string, metric: string, query: URLSearchParams, entry?: string): string =>
  at(["t", target, "history"], { entry, metric, from: rangeOf(query)[2] > 0 ? from(rangeOf(query)[2]) : undefined });

export function Trend({ title, target, metrics, entry, none }: Props) {
  const { query } = useRoute();
  const [id] = rangeOf(query);
  const metric = metrics.find((m) => m.id === query.get("metric")) ?? metrics[0]!;
  const path = historyAt(target, metric.of ?? metric.id, query, metric.row ?? entry);
  const history = useData<History>(path, "audit", target);
  return (
    <Panel
      title={title}
      tools={
        <>
          {metrics.length > 1 && (
            <span class="segments" role="group" aria-label="Figure">
              {metrics.map((m) => (
                <button key={m.id} type="button" aria-pressed={m === metric} onClick={() => setQuery({ metric: m.id })}>
                  {m.name}
                </button>
              ))}
            </span>
          )}
          <select aria-label="How far back" value={id} onChange={(e) => setQuery({ range: e.currentTarget.value || undefined })}>
            {ranges.map((r) => (
              <option key={r[0]} value={r[0]}>
                {r[1]}
              </option>
            ))}
          </select>
          <button type="button" class="button small" disabled={!history.data} onClick={() => history.data && save("history", rowsOf(history.data))}>
            CSV
          </button>
        </>
      }
    >
      <Answer of={history} what="history">
        {(h) =>
          h.series.some((s) => s.points.length > 0) ? (
            <Chart of={shown(h)} label={`${title}: ${metric.name} over ${ranges.find((r) => r[0] === id)?.[1]}`} write={metric.write} />
          ) : (
            <Empty title="No history yet">{none ?? "Each audit adds a point."}</Empty>
          )
        }
      </Answer>
    </Panel>
  );
}
