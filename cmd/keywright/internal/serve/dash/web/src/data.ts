// What was fetched, by its address. A view keeps what it has while a newer answer is on its way.
import { useEffect, useState } from "preact/hooks";
import type { Failure, Me, Newer } from "./api";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly failure: Failure,
  ) {
    super(failure.message);
  }
}

const noAnswer: Failure = {
  code: "no-answer",
  message: "keywright does not answer.",
  hint: "Is `keywright serve` running? The page goes on by itself once it is.",
};

let me: Me | undefined;
export const setMe = (m: Me | undefined): void => void (me = m);

/** request sends one request and answers with what came, or throws an ApiError. */
export const request = async <T>(path: string, init?: RequestInit): Promise<T> => (await reply<T>(path, init)).body;

/** reply is the answer of a request; 304 has none: it is what the page has. */
async function reply<T>(path: string, init?: RequestInit): Promise<{ body: T; status: number; tag: string }> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (e) {
    if (e instanceof DOMException && e.name === "AbortError") throw e;
    throw new ApiError(0, noAnswer);
  }
  const tag = response.headers.get("ETag") ?? "";
  if (response.status === 304) return { body: undefined as T, status: 304, tag };
  const text = await response.text();
  let body: unknown;
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    body = undefined;
  }
  if (response.ok && body !== undefined) return { body: body as T, status: response.status, tag };
  const failure = (body as { error?: Failure } | undefined)?.error;
  const error = new ApiError(
    response.status,
    failure ?? { code: `http-${response.status}`, message: `keywright answered ${response.status}.` },
  );
  if (response.status === 401) dispatchEvent(new Event("signed-out"));
  throw error;
}

/** send posts what changes something: with the token against forged requests. */
export const send = <T>(path: string, body?: unknown): Promise<T> =>
  request<T>(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Keywright-CSRF": me?.csrf ?? "" },
    body: JSON.stringify(body ?? {}),
  });

interface Held {
  data?: unknown;
  tag?: string; // of the data: only what is newer is asked for
  asked: number; // when the data was asked for
  error?: ApiError;
  views: Set<() => void>;
  asking?: Promise<void>;
  again?: boolean;
  topic: string;
  target?: string;
}

const held = new Map<string, Held>();
const limit = 60; // answers without a view that are kept

function forget(): void {
  if (held.size <= limit) return;
  for (const [path, h] of held) {
    if (h.views.size === 0) held.delete(path);
    if (held.size <= limit) return;
  }
}

/** together is an answer, of the one that the page has and what is newer. */
function together(had: unknown, newer: Newer): unknown {
  const out: Record<string, unknown> = { ...newer.rest };
  for (const [name, rows] of Object.entries(newer.rows)) {
    const old = (had as Record<string, unknown[]>)[name] ?? [];
    out[name] = rows.flatMap((row) => (Array.isArray(row) ? old.slice(row[0], row[1] + 1) : [row]));
  }
  return out;
}

async function ask(path: string, h: Held): Promise<void> {
  if (h.asking) {
    h.again = true; // what is on its way may be older than what changed
    return;
  }
  const asked = performance.now();
  h.asking = reply<unknown>(path, h.tag ? { headers: { "If-None-Match": h.tag, "A-IM": "rows" } } : { headers: { "A-IM": "rows" } })
    .then(({ body, status, tag }) => {
      if (status === 226) h.data = together(h.data, body as Newer);
      else if (status !== 304) h.data = body;
      h.tag = tag;
      h.asked = asked;
      delete h.error;
    })
    .catch((e: unknown) => {
      h.error = e instanceof ApiError ? e : new ApiError(0, noAnswer);
    });
  await h.asking;
  delete h.asking;
  for (const redraw of h.views) redraw();
  if (h.again) {
    delete h.again;
    void ask(path, h);
  }
}

/** changed fetches again what is shown of a target's topics, or of all targets'; with none, everything that is shown. */
export function changed(target?: string, topics?: string[]): void {
  for (const [path, h] of held) {
    const concerned = !topics || ((target === undefined || h.target === undefined || h.target === target) && topics.includes(h.topic));
    if (!concerned) continue;
    if (h.views.size > 0) void ask(path, h);
    else held.delete(path);
  }
}

const untold = new Set(["dead", "explain"]); // topics of which no event tells that they have changed

/** ahead begins to fetch what a view will ask for. */
export function ahead(path: string, topic: string, target?: string): void {
  if (held.has(path)) return;
  const h: Held = { views: new Set(), topic, target, asked: 0 };
  held.set(path, h);
  void ask(path, h);
}

export interface Data<T> {
  data?: T;
  asked: number; // when it was asked for: what was told before that is older
  error?: ApiError;
  reload: () => void;
}

/** useData fetches an answer and fetches it again when its topic has changed. A path of undefined fetches nothing. */
export function useData<T>(path: string | undefined, topic: string, target?: string): Data<T> {
  const [, draw] = useState(0);
  useEffect(() => {
    if (path === undefined) return;
    let h = held.get(path);
    if (!h) {
      h = { views: new Set(), topic, target, asked: 0 };
      held.set(path, h);
      forget();
    }
    const mine = h;
    const redraw = () => draw((n) => n + 1);
    mine.views.add(redraw);
    const opened = mine.views.size === 1 && untold.has(topic);
    if (!mine.asking && (mine.data === undefined || mine.error || opened)) void ask(path, mine);
    if (mine.data !== undefined) redraw();
    return () => void mine.views.delete(redraw);
  }, [path, topic, target]);
  const h = path === undefined ? undefined : held.get(path);
  return {
    data: h?.data as T | undefined,
    asked: h?.asked ?? 0,
    error: h?.error,
    reload: () => {
      if (path !== undefined && h) void ask(path, h);
    },
  };
}
