// A table that sorts, filters and can be downloaded. Its order and filter are part of the view's address.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { save } from "../download";
import { count } from "../format";
import { setQuery, useRoute } from "../route";

export interface Column<T> {
  id: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  sort?: (row: T) => string | number;
  csv?: (row: T) => string | number; // in a downloaded file; sort, where it is absent
  num?: boolean;
  minor?: boolean; // not on a phone
}

interface Props<T> {
  id: string;
  caption: string;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  order?: string; // the column that sorts at first, with - from the largest
  text?: (row: T) => string; // what the filter looks at
  csv?: string; // an answer of the API, as a file; absent: what is shown is one
  total?: number; // where rows are not all
  empty?: ComponentChildren;
  page?: number;
  tools?: ComponentChildren;
  cards?: boolean; // on a phone a row is a card: each cell has a line of its own, after the title of its column
}

function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function arranged<T>(p: Props<T>, order: string, filter: string): T[] {
  let rows = p.rows;
  if (filter && p.text) {
    const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const text = p.text;
    rows = rows.filter((r) => {
      const have = text(r).toLowerCase();
      return wanted.every((w) => have.includes(w));
    });
  }
  const down = order.startsWith("-");
  const sort = p.columns.find((c) => c.id === order.replace(/^-/, ""))?.sort;
  if (!sort) return rows;
  return rows
    .map((row, i) => ({ row, i, by: sort(row) }))
    .sort((a, b) => (down ? compare(b.by, a.by) : compare(a.by, b.by)) || a.i - b.i)
    .map((x) => x.row);
}

function Head<T>({ p, order }: { p: Props<T>; order: string }) {
  return (
    <tr>
      {p.columns.map((c) => {
        const on = order.replace(/^-/, "") === c.id;
        const down = order.startsWith("-");
        const next = on ? (down ? c.id : `-${c.id}`) : c.num ? `-${c.id}` : c.id;
        return (
          <th
            key={c.id}
            scope="col"
            class={`${c.num ? "num" : ""} ${c.minor ? "minor" : ""}`}
            aria-sort={c.sort && on ? (down ? "descending" : "ascending") : undefined}
          >
            {c.sort ? (
              <button type="button" onClick={() => setQuery({ [`${p.id}.sort`]: next })}>
                {c.title}
                <span aria-hidden="true">{on ? (down ? "↓" : "↑") : ""}</span>
              </button>
            ) : (
              c.title
            )}
          </th>
        );
      })}
    </tr>
  );
}

/** written is a table as rows of text. */
function written<T>(p: Props<T>, rows: T[]): (string | number)[][] {
  const columns = p.columns.filter((c) => c.csv ?? c.sort);
  return [columns.map((c) => c.id), ...rows.map((r) => columns.map((c) => (c.csv ?? c.sort)!(r)))];
}

/** filtered reports whether a table has a filter: a short one needs none. */
const filtered = <T,>(p: Props<T>, filter: string): boolean => !!p.text && (p.rows.length > 8 || filter !== "");

function Tools<T>({ p, filter, rows }: { p: Props<T>; filter: string; rows: T[] }) {
  const shown = rows.length;
  const all = p.total ?? p.rows.length;
  return (
    <div class="tabletools">
      {filtered(p, filter) && (
        <input
          type="search"
          aria-label={`Filter: ${p.caption}`}
          placeholder="Filter"
          value={filter}
          onInput={(e) => setQuery({ [`${p.id}.q`]: e.currentTarget.value })}
        />
      )}
      {p.tools}
      <span class="count">{shown === all ? count(all) : `${count(shown)} of ${count(all)}`}</span>
      {p.csv ? (
        <a class="button small" href={`${p.csv}${p.csv.includes("?") ? "&" : "?"}format=csv`} download>
          CSV
        </a>
      ) : (
        <button type="button" class="button small" onClick={() => save(p.id, written(p, rows))}>
          CSV
        </button>
      )}
    </div>
  );
}

export function Table<T>(p: Props<T>) {
  const { query } = useRoute();
  const [more, setMore] = useState(0);
  const order = query.get(`${p.id}.sort`) ?? p.order ?? "";
  const filter = query.get(`${p.id}.q`) ?? "";
  const rows = useMemo(() => arranged(p, order, filter), [p.rows, order, filter]);
  const filters = filtered(p, filter);
  const page = p.page ?? 40;
  const visible = rows.slice(0, page + more);
  if (p.rows.length === 0 && p.empty) return <>{p.empty}</>;
  return (
    <div class="table">
      {filters && <Tools p={p} filter={filter} rows={rows} />}
      <div class="scroll" tabIndex={0} role="region" aria-label={p.caption}>
        <table class={p.cards ? "cards" : undefined}>
          <caption class="aside">{p.caption}</caption>
          <thead>
            <Head p={p} order={order} />
          </thead>
          <tbody>
            {visible.map((row) => (
              <tr key={p.rowKey(row)}>
                {p.columns.map((c) => (
                  <td key={c.id} class={`${c.num ? "num" : ""} ${c.minor ? "minor" : ""}`} data-title={p.cards ? c.title : undefined}>
                    {c.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="none">Nothing matches “{filter}”.</p>}
      {rows.length > visible.length && (
        <p class="more">
          <button type="button" class="button small" onClick={() => setMore(more + 200)}>
            Show {count(Math.min(200, rows.length - visible.length))} more
          </button>
          <span class="note">{count(rows.length - visible.length)} are not shown</span>
        </p>
      )}
      {!filters && <Tools p={p} filter={filter} rows={rows} />}
    </div>
  );
}
