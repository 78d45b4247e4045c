// The treemap: an area per entry, in groups that can be entered. Its tiles are links, and arrow keys go between them.
import { hierarchy, treemap, treemapSquarify, type HierarchyRectangularNode } from "d3-hierarchy";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EntryRow } from "../api";
import { brief, bytes, count, percent, plural } from "../format";
import { view } from "../route";

export type Measure = "bytes" | "keys";

/** labelOf is how a row is called where its kind is shown otherwise. */
export const labelOf = (row: EntryRow): string =>
  row.kind === "undeclared" ? "undeclared keys" : row.kind === "entry" ? row.name : (row.pattern ?? row.name);

/** short is a row's name without the words that the map shows around it. */
function short(row: EntryRow, around: string): string {
  let name = labelOf(row);
  for (const word of row.kind === "entry" ? around.split(":") : []) {
    const rest = name.slice(word.length);
    if (word && name.startsWith(word) && /^[_.-]./.test(rest)) name = rest.slice(1);
  }
  return name;
}

interface Node {
  name: string;
  path: string;
  row?: EntryRow;
  children?: Node[];
  within?: EntryRow[]; // of a group
  worth?: number;
}

/** grow builds the groups of the entries; a group with one child alone is named together with it. */
export function grow(rows: EntryRow[]): Node {
  const root: Node = { name: "", path: "", children: [] };
  const groups = new Map<string, Node>([["", root]]);
  const group = (of: string[]): Node => {
    const path = of.join(":");
    const known = groups.get(path);
    if (known) return known;
    const made: Node = { name: of[of.length - 1]!, path, children: [] };
    groups.set(path, made);
    group(of.slice(0, -1)).children!.push(made);
    return made;
  };
  for (const row of rows) group(row.group ? row.group.split(":") : []).children!.push({ name: labelOf(row), path: row.name, row });
  return fold(root);
}

function fold(node: Node): Node {
  if (!node.children) return node;
  node.children = node.children.map(fold);
  const only = node.children[0];
  if (node.path && node.children.length === 1 && only) {
    return only.row ? only : { ...only, name: `${node.name}:${only.name}` };
  }
  return node;
}

/** inside is the group of a path, or the whole where there is none. */
export function inside(root: Node, path: string): Node {
  for (const child of root.children ?? []) {
    if (!child.children) continue;
    if (child.path === path) return child;
    if (path.startsWith(`${child.path}:`)) return inside(child, path);
  }
  return root;
}

const leaves = (n: Node): Node[] => (n.row ? [n] : (n.children ?? []).flatMap(leaves));

export function tone(row: EntryRow): string {
  if (row.kind === "undeclared" || row.kind === "foreign") return row.kind;
  if (row.errors > 0) return "error";
  if (row.violations > 0) return "warning";
  return row.keys === 0 ? "unused" : "clean";
}

/** worst is the tone of a group that is drawn as one. */
const worst = (rows: EntryRow[]): string => ["error", "warning", "clean", "undeclared", "foreign"].find((t) => rows.some((r) => tone(r) === t)) ?? "unused";

type Box = HierarchyRectangularNode<Node>;

const drawn = 250; // entries that are drawn apart inside of groups; a browser needs long for more

const worth = (n: Node, by: Measure): number => (n.row ? n.row[by] : (n.children ?? []).reduce((s, c) => s + worth(c, by), 0));

/** opened are the largest groups, as many as may be drawn with all of their entries. */
function opened(groups: Node[], by: Measure): Set<Node> {
  const open = new Set<Node>();
  let left = drawn;
  for (const { group } of groups.map((group) => ({ group, of: worth(group, by) })).sort((a, b) => b.of - a.of)) {
    const n = leaves(group).length;
    if (n > left) continue;
    left -= n;
    open.add(group);
  }
  return open;
}

/** layout places a group's groups, and in the larger of these all of their entries. */
function layout(node: Node, by: Measure, width: number, height: number): { boxes: Box[]; hidden: number } {
  const open = opened((node.children ?? []).filter((c) => !c.row), by);
  const flat: Node = {
    ...node,
    children: (node.children ?? []).map((c) => (c.row ? c : { ...c, children: open.has(c) ? leaves(c) : undefined, within: leaves(c).map((l) => l.row!), worth: worth(c, by) })),
  };
  const root = hierarchy(flat)
    .sum((n) => (n.row ? n.row[by] : n.children ? 0 : (n.worth ?? 0)))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const placed = treemap<Node>()
    .tile(treemapSquarify.ratio(1.3))
    .size([width, height])
    .round(true)
    .paddingInner(2)
    .paddingTop((n) => (n.depth === 1 && n.children && n.x1 - n.x0 > 40 ? 22 : 0))(root);
  const all = placed.descendants().slice(1);
  const boxes = all.filter((b) => b.x1 - b.x0 >= 3 && b.y1 - b.y0 >= 3 && (b.value ?? 0) > 0);
  const hidden = all.filter((b) => !b.children).length - boxes.filter((b) => !b.children).length;
  return { boxes, hidden };
}

function useWidth(): [preact.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    set(element.clientWidth);
    const seen = new ResizeObserver(() => set(element.clientWidth));
    seen.observe(element);
    return () => seen.disconnect();
  }, []);
  return [ref, width];
}

/** nearest is the link that an arrow key leads to from another. */
function nearest(from: HTMLElement, all: HTMLElement[], key: string): HTMLElement | undefined {
  const at = from.getBoundingClientRect();
  const x = at.x + at.width / 2;
  const y = at.y + at.height / 2;
  let best: HTMLElement | undefined;
  let least = Infinity;
  for (const other of all) {
    if (other === from) continue;
    const o = other.getBoundingClientRect();
    const dx = o.x + o.width / 2 - x;
    const dy = o.y + o.height / 2 - y;
    const across = key === "ArrowRight" || key === "ArrowLeft";
    const ahead = (across ? dx : dy) * (key === "ArrowRight" || key === "ArrowDown" ? 1 : -1);
    const aside = across ? dy : dx;
    if (ahead <= 1) continue;
    const far = ahead + 2 * Math.abs(aside);
    if (far < least) [best, least] = [other, far];
  }
  return best;
}

function onKey(e: KeyboardEvent): void {
  if (!e.key.startsWith("Arrow")) return;
  const map = e.currentTarget as HTMLElement;
  const from = e.target as HTMLElement;
  const to = nearest(from, [...map.querySelectorAll<HTMLElement>("a")], e.key);
  if (!to) return;
  e.preventDefault();
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

const amount = (n: number, by: Measure): string => (by === "bytes" ? bytes(n) : `${brief(n)} keys`);

function say(b: Box, by: Measure, total: number): string {
  const row = b.data.row;
  const share = percent(total > 0 ? (b.value ?? 0) / total : 0);
  if (!row) {
    const within = b.data.within ?? [];
    const broken = within.reduce((s, r) => s + r.violations, 0);
    return `${b.data.path || b.data.name}: ${plural(within.length, "entry", "entries")}, ${amount(b.value ?? 0, by)}, ${share}${broken > 0 ? `, ${plural(broken, "violation")}` : ""}`;
  }
  const wrong = row.violations > 0 ? `, ${plural(row.violations, "violation")}` : "";
  const kind = row.kind === "entry" ? "" : ` (${row.kind})`;
  return `${labelOf(row)}${kind}: ${count(row.keys)} keys, ${bytes(row.bytes)}, ${share}${wrong}`;
}

export function rowLink(target: string, row: EntryRow): string {
  if (row.kind === "undeclared") return view(["t", target, "undeclared"]);
  if (row.kind === "foreign") return view(["t", target], { "entries.q": labelOf(row) });
  return view(["t", target, "e", row.entry ?? row.name], { part: row.entry && row.entry !== row.name ? row.name : undefined });
}

interface Props {
  target: string;
  rows: EntryRow[];
  by: Measure;
  zoom: string;
  linkOf: (zoom: string) => string;
}

export function Treemap({ target, rows, by, zoom, linkOf }: Props) {
  const [ref, width] = useWidth();
  const [told, tell] = useState<string>();
  const root = useMemo(() => grow(rows), [rows]);
  const node = inside(root, zoom);
  const height = width < 600 ? 380 : Math.round(Math.min(520, Math.max(360, width * 0.42)));
  const { boxes, hidden } = useMemo(
    () => (width > 0 ? layout(node, by, width, height) : { boxes: [], hidden: 0 }),
    [node, by, width, height],
  );
  const total = boxes.filter((b) => b.depth === 1).reduce((sum, b) => sum + (b.value ?? 0), 0);
  const rest = `${amount(total, by)} in ${plural(leaves(node).length, "row")}${hidden > 0 ? `; ${count(hidden)} of them too small to draw, all are in the table below` : ""}`;
  return (
    <div>
      <div
        class="map"
        ref={ref}
        role="group"
        aria-label={`Entries by ${by}. Arrow keys move, Enter opens.`}
        style={{ height: `${height}px` }}
        onKeyDown={onKey}
        onMouseLeave={() => tell(undefined)}
      >
        {boxes.map((b, i) => {
          const row = b.data.row;
          const w = b.x1 - b.x0;
          const h = b.y1 - b.y0;
          const words = say(b, by, total);
          return (
            <a
              key={`${row ? row.kind : "group"} ${b.data.path} ${row?.name ?? ""}`}
              class={row ? `tile ${tone(row)}` : b.children ? "box" : `tile group ${worst(b.data.within ?? [])}`}
              href={row ? rowLink(target, row) : linkOf(b.data.path)}
              tabIndex={i === 0 ? 0 : -1}
              onMouseEnter={() => tell(words)}
              onFocus={() => tell(words)}
              style={{ left: `${b.x0}px`, top: `${b.y0}px`, width: `${w}px`, height: `${h}px` }}
            >
              {w > 44 && h > 18 && <span>{row ? short(row, b.parent?.data.path ?? "") : b.data.name}</span>}{" "}
              {w > 64 && h > 38 && !b.children && <small>{amount(b.value ?? 0, by)}{!row && w > 120 && `, ${plural(b.data.within?.length ?? 0, "entry", "entries")}`}</small>}
              {b.children && w > 160 && <small>{amount(b.value ?? 0, by)}</small>} <span class="aside">{words}</span>
            </a>
          );
        })}
      </div>
      <p class="readout" aria-hidden="true">
        {told ?? rest}
      </p>
    </div>
  );
}
