// The hash is the address of a view: #/t/NAME/queues?sort=-depth
import { useEffect, useState } from "preact/hooks";

export interface Route {
  path: string[];
  query: URLSearchParams;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

export type Query = Record<string, string | undefined>;

function withQuery(path: string, query?: Query): string {
  const pairs = Object.entries(query ?? {}).filter((p): p is [string, string] => !!p[1]);
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/** view is the address of a view: its parts are encoded. */
export const view = (parts: string[], query?: Query): string =>
  withQuery(`#/${parts.map(encodeURIComponent).join("/")}`, query);

/** at is the address of an answer of the API. */
export const at = (parts: string[], query?: Query): string =>
  withQuery(`api/v1/${parts.map(encodeURIComponent).join("/")}`, query);

/** setQuery changes parts of the present view's query, without a step in the history. */
export function setQuery(change: Query): void {
  const [path = ""] = location.hash.split("?");
  const query = parse(location.hash).query;
  for (const [name, value] of Object.entries(change)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", `${path || "#/"}${text ? `?${text}` : ""}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** keyView is the page that explains a key; one that is not UTF-8 goes by its bytes. */
export const keyView = (target: string, key: { text: string; base64?: string }): string =>
  view(["t", target, "search"], key.base64 === undefined ? { key: key.text } : { base64: key.base64 });

const percent = (bytes: string): string =>
  Array.from(bytes, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");

/** explained is the API's answer for a key of the query. */
export function explained(target: string, query: URLSearchParams): string | undefined {
  const base64 = query.get("base64");
  const key = query.get("key");
  const path = at(["t", target, "explain"]);
  if (base64) {
    try {
      return `${path}?key=${percent(atob(base64))}`;
    } catch {
      return undefined; // an address that was cut
    }
  }
  return key ? `${path}?key=${encodeURIComponent(key)}` : undefined;
}
