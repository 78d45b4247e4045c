// What is around every page: navigation, search, the state of the connection, keys of the keyboard.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { List, Me, Target } from "./api";
import { request } from "./data";
import { useLink } from "./live";
import { view } from "./route";
import { State } from "./pages/fleet";
import { Dialog } from "./ui/dialog";
import { Name } from "./ui/bits";

interface Place {
  id: string;
  name: string;
  key: string;
}

const places: { title: string; of: Place[] }[] = [
  {
    title: "Keyspace",
    of: [
      { id: "", name: "Overview", key: "o" },
      { id: "search", name: "Explain a key", key: "k" },
      { id: "findings", name: "Findings", key: "f" },
      { id: "undeclared", name: "Undeclared", key: "u" },
    ],
  },
  {
    title: "At work",
    of: [
      { id: "queues", name: "Queues", key: "q" },
      { id: "locks", name: "Locks", key: "l" },
      { id: "entities", name: "Entities", key: "e" },
      { id: "streams", name: "Streams", key: "t" },
      { id: "caches", name: "Caches", key: "c" },
      { id: "rankings", name: "Rankings", key: "r" },
    ],
  },
  {
    title: "Operations",
    of: [
      { id: "server", name: "Server", key: "s" },
      { id: "runs", name: "Runs and plans", key: "p" },
      { id: "janitor", name: "Janitor", key: "j" },
      { id: "migrations", name: "Migrations", key: "m" },
    ],
  },
];

const all = places.flatMap((p) => p.of);
export const titleOf = (id: string): string => all.find((p) => p.id === id)?.name ?? "";

type Scheme = "auto" | "light" | "dark";
const next: Record<Scheme, Scheme> = { auto: "light", light: "dark", dark: "auto" };

function storedScheme(): Scheme {
  try {
    const s = localStorage.getItem("scheme");
    return s === "light" || s === "dark" ? s : "auto";
  } catch {
    return "auto"; // a browser that stores nothing
  }
}

export function applyScheme(s: Scheme = storedScheme()): void {
  document.documentElement.classList.toggle("light", s === "light");
  document.documentElement.classList.toggle("dark", s === "dark");
  dispatchEvent(new Event("scheme"));
}

function SchemeButton() {
  const [scheme, set] = useState(storedScheme);
  return (
    <button
      type="button"
      class="button small quiet"
      onClick={() => {
        const s = next[scheme];
        try {
          localStorage.setItem("scheme", s);
        } catch {
          // it lasts as long as this page
        }
        set(s);
        applyScheme(s);
      }}
    >
      Colours: {scheme}
    </button>
  );
}

function Linked() {
  const link = useLink();
  const words = { live: "Live", connecting: "Connecting", away: "Not connected" }[link];
  return (
    <span class={`link ${link}`} role="status">
      {words}
    </span>
  );
}

/** useKeys follows the keys of the keyboard: / searches, g and a letter goes to a page, ? tells of them. */
function useKeys(target: string | undefined, help: () => void): void {
  const gone = useRef(0);
  // Before the page is painted: who sees it can use its keys.
  useLayoutEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const on = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(on.tagName) || document.querySelector("dialog[open]")) return;
      if (e.key === "?") help();
      else if (e.key === "/" && target) {
        e.preventDefault();
        document.querySelector<HTMLInputElement>("#jump")?.focus();
      } else if (e.key === "g") gone.current = Date.now();
      else if (Date.now() - gone.current < 1500) {
        gone.current = 0;
        const place = all.find((p) => p.key === e.key);
        if (place && target) location.hash = view(["t", target, place.id].filter(Boolean));
        else if (e.key === "h") location.hash = "#/";
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [target]);
}

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        <div>
          <dt><kbd>/</kbd></dt>
          <dd>Explain a key</dd>
        </div>
        <div>
          <dt><kbd>?</kbd></dt>
          <dd>This list</dd>
        </div>
        <div>
          <dt><kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd></dt>
          <dd>Between the tiles of the map</dd>
        </div>
        <div>
          <dt><kbd>g</kbd> <kbd>h</kbd></dt>
          <dd>Fleet</dd>
        </div>
        {all.map((p) => (
          <div key={p.id}>
            <dt><kbd>g</kbd> <kbd>{p.key}</kbd></dt>
            <dd>{p.name}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function Nav({ target, page }: { target: string; page: string }) {
  return (
    <>
      {places.map((group) => (
        <div class="group" key={group.title}>
          <h2>{group.title}</h2>
          <ul>
            {group.of.map((p) => (
              <li key={p.id}>
                <a href={view(["t", target, p.id].filter(Boolean))} aria-current={p.id === page ? "page" : undefined}>
                  {p.name}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function Jump({ target }: { target: string }) {
  return (
    <form
      class="jump"
      role="search"
      aria-label="Explain a key"
      onSubmit={(e) => {
        e.preventDefault();
        const input = e.currentTarget.querySelector("input");
        if (input?.value) location.hash = view(["t", target, "search"], { key: input.value });
      }}
    >
      <input id="jump" type="search" placeholder="Explain a key" aria-label="Key" autocomplete="off" spellcheck={false} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** signOut ends the session of this page, which then asks for a token. */
async function signOut(): Promise<void> {
  try {
    await request("api/v1/session", { method: "DELETE" });
  } finally {
    dispatchEvent(new Event("signed-out"));
  }
}

interface Props {
  me: Me;
  targets?: List<Target>;
  target?: string;
  page: string;
  children: ComponentChildren;
}

export function Shell({ me, targets, target, page, children }: Props) {
  const [help, setHelp] = useState(false);
  const [open, setOpen] = useState(false);
  useKeys(target, () => setHelp(true));
  useEffect(() => setOpen(false), [target, page]);
  const now = targets?.items.find((t) => t.id === target);
  const lost = useLink() === "away";
  const several = (targets?.items.length ?? 0) > 1;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M9 7v18M9 16l6-5h8M9 16l6 5h8" />
          </svg>
          keywright
        </a>
        <button type="button" class="button small menu" aria-expanded={open} aria-controls="nav" onClick={() => setOpen(!open)}>
          Menu
        </button>
        {target && <Jump target={target} />}
        <span class="status">
          {now && !lost && <State of={now.state} />}
          <Linked />
        </span>
      </header>
      <nav id="nav" class={open ? "side open" : "side"} aria-label="Pages">
        {several && targets && (
          <label class="field">
            <span>Server</span>
            <select value={target ?? ""} onChange={(e) => (location.hash = e.currentTarget.value ? view(["t", e.currentTarget.value]) : "#/")}>
              <option value="">Fleet</option>
              {targets.items.map((t) => (
                <option key={t.id} value={t.id}>
                  {t.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {target && <Nav target={target} page={page} />}
        <div class="foot">
          <p class="note">
            {me.user && (
              <>
                <Name text={me.user} />, {me.role}
                <br />
              </>
            )}
            {me.allow_apply ? "Changes are allowed" : "Read-only"}
          </p>
          {me.session && (
            <button type="button" class="button small quiet" onClick={() => void signOut()}>
              Sign out
            </button>
          )}
          <SchemeButton />
          <button type="button" class="button small quiet" onClick={() => setHelp(true)}>
            Keys <kbd>?</kbd>
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {lost && (
          <div class="banner error" role="alert">
            <p>
              <strong>keywright serve does not answer.</strong> What you see is what was read before; nothing of it is known to be so now. The page goes on by itself.
            </p>
          </div>
        )}
        {now?.state === "away" && !lost && (
          <div class="banner error" role="alert">
            <p>
              <strong>The server does not answer.</strong> {now.why && <bdi>{now.why}. </bdi>}What you see is what was read before.
            </p>
          </div>
        )}
        {children}
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}
