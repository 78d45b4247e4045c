// Lines over time, drawn by uPlot with the colours of the page.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { History } from "../api";
import { moment } from "../format";

/** colour reads a colour as it is now: a canvas knows no light-dark(). */
function colour(name: string): string {
  const probe = document.createElement("i");
  probe.className = `probe ${name}`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

export const hues = ["hue1", "hue2", "hue3", "hue4", "hue5", "hue6"];

/** table turns series of points into columns with one time each; what has no value is null. */
export function table(h: History): [number[], ...(number | null)[][]] {
  const times = [...new Set(h.series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
  const columns = h.series.map((s) => {
    const at = new Map(s.points);
    return times.map((t) => at.get(t) ?? null);
  });
  return [times, ...columns];
}

function options(h: History, width: number, height: number, write: (n: number) => string): uPlot.Options {
  const soft = colour("soft");
  const line = colour("line");
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  return {
    width,
    height,
    padding: [8, 4, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    scales: { x: { range: (u, low, high) => (u.data[0]!.length === 1 ? [u.data[0]![0]! - 3600, u.data[0]![0]! + 3600] : [low, high]) }, y: { range: (_u, low, high) => [Math.min(0, low ?? 0), (high ?? 0) <= 0 ? 1 : (high ?? 1) * 1.08] } },
    axes: [
      { ...axis, space: 70, grid: { show: false } },
      { ...axis, size: 64, space: 36, values: (_u, at) => at.map((v) => (v === null ? "" : write(v))) },
    ],
    series: [
      {},
      ...h.series.map((_, i) => {
        const stroke = colour(hues[i % hues.length]!);
        return {
          stroke,
          width: 1.75,
          points: { show: h.series.every((s) => s.points.length < 3) },
          fill: h.series.length === 1 ? stroke.replace("rgb(", "rgba(").replace(")", ", 0.12)") : undefined,
          spanGaps: false,
        };
      }),
    ],
  };
}

/** useScheme changes when the page turns dark or light. */
function useScheme(): number {
  const [n, set] = useState(0);
  useEffect(() => {
    const turned = () => set((x) => x + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", turned);
    addEventListener("scheme", turned);
    return () => {
      dark.removeEventListener("change", turned);
      removeEventListener("scheme", turned);
    };
  }, []);
  return n;
}

interface Props {
  of: History;
  label: string;
  write: (n: number) => string;
  height?: number;
}

export function Chart({ of, label, write, height = 190 }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [index, setIndex] = useState<number | null>(null);
  const scheme = useScheme();
  const data = table(of);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const o = options(of, Math.max(120, element.clientWidth), height, write);
    o.hooks = { setCursor: [(u) => setIndex(u.cursor.idx ?? null)] };
    const plot = new uPlot(o, data as uPlot.AlignedData, element);
    const seen = new ResizeObserver(() => plot.setSize({ width: Math.max(120, element.clientWidth), height }));
    seen.observe(element);
    return () => {
      seen.disconnect();
      plot.destroy();
    };
  }, [of, scheme, height]);
  const at = index ?? data[0].length - 1;
  const time = data[0][at];
  return (
    <figure class="chart">
      <figcaption>
        <span class="note">{time === undefined ? "" : moment(time * 1000)}</span>
        {of.series.map((s, i) => {
          const value = data[i + 1]?.[at];
          return (
            <span key={s.name} class="serie">
              <i class={hues[i % hues.length]} />
              {of.series.length > 1 && <bdi>{s.name}</bdi>} <strong>{value === null || value === undefined ? "–" : write(value)}</strong>
            </span>
          );
        })}
      </figcaption>
      <div ref={ref} role="img" aria-label={label} />
    </figure>
  );
}

interface BarsProps {
  of: { label: string; value: number }[];
  label: string;
  write: (n: number) => string;
}

/** Bars draws a distribution, a row for each bucket. */
export function Bars({ of, label, write }: BarsProps) {
  const most = Math.max(1, ...of.map((b) => b.value));
  return (
    <table class="bars">
      <caption class="aside">{label}</caption>
      <tbody>
        {of.map((b) => (
          <tr key={b.label}>
            <th scope="row">{b.label}</th>
            <td>
              <span class={b.value > 0 ? "bar" : "bar none"} style={{ width: `${(b.value / most) * 100}%` }} />
            </td>
            <td class="num">{write(b.value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
