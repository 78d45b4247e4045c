// What a view shows that has nothing to show yet, or any more.
import type { ComponentChildren } from "preact";
import type { Measured, Progress } from "../api";
import type { ApiError, Data } from "../data";
import { count, duration, percent } from "../format";
import { useLink, useNow } from "../live";
import { Ago, Meter } from "./bits";

export const Loading = ({ what }: { what: string }) => (
  <div class="loading" role="status">
    <span class="aside">Loading {what}</span>
    <i />
    <i />
    <i />
    <i />
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <svg viewBox="0 0 48 48" aria-hidden="true">
      <path d="M8 15h32v22H8zM8 15l5-7h22l5 7M19 22h10" />
    </svg>
    <p>
      <strong>{title}</strong>
    </p>
    {children && <p>{children}</p>}
  </div>
);

/** None is shown where a list is empty; what was not looked at is not empty. */
export const None = ({ of, title, children }: { of: Measured; title: string; children?: ComponentChildren }) =>
  !of.at && (of.partial || of.every_seconds) ? <Empty title="It was not looked at" /> : <Empty title={title}>{children}</Empty>;

export const Failed = ({ error, retry }: { error: ApiError; retry?: () => void }) => (
  <div class="failed" role="alert">
    <p>
      <strong>{error.failure.message}</strong>
    </p>
    {error.failure.hint && <p>{error.failure.hint}</p>}
    {retry && (
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
);

/** Audit is an audit that runs. */
export function Audit({ running, first }: { running: Progress; first: boolean }) {
  const share = running.expected > 0 ? running.keys / running.expected : 0;
  return (
    <div class="banner busy" role="status">
      <p>
        <strong>{first ? "The first audit is running" : "An audit is running"}</strong> {count(running.keys)}
        {running.expected > 0 ? ` of about ${count(running.expected)} keys were read (${percent(Math.min(1, share))})` : " keys were read"}, since{" "}
        <Ago at={running.since} />.{running.paused && " It waits, to spare the server."}
      </p>
      <Meter value={running.keys} of={running.expected} label="Keys that were read" />
    </div>
  );
}

/** AsOf says when what is shown was read, and how often it is. */
const AsOf = ({ of }: { of: Measured }) =>
  of.at && of.every_seconds ? (
    <p class="note asof">
      As of <Ago at={of.at} />, read every {duration(of.every_seconds)}.
    </p>
  ) : null;

/** Truth says what of a measurement is not as it should be: old, or not whole. Where keywright is away the page says so once. */
export function Truth({ of, error, retry }: { of: Measured; error?: ApiError; retry?: () => void }) {
  const away = useLink() === "away";
  const now = useNow(5_000);
  // the server says what is old; where it says nothing any more the page sees that itself, somewhat later
  const late = !!of.at && !!of.every_seconds && now - Date.parse(of.at) > 4_000 * Math.max(of.every_seconds, 5);
  if (away) return <AsOf of={of} />;
  return (
    <>
      <AsOf of={of} />
      {error && (
        <div class="banner error" role="alert">
          <p>
            <strong>What you see could not be refreshed.</strong> {error.failure.message} {error.failure.hint}
          </p>
          {retry && (
            <button type="button" class="button small" onClick={retry}>
              Try again
            </button>
          )}
        </div>
      )}
      {(of.stale || late) && !error && !of.failed && (
        <div class="banner warning" role="status">
          <p>
            <strong>This is old.</strong>{" "}
            {of.at ? (
              <>
                It was read <Ago at={of.at} />, and no newer reading has arrived.
              </>
            ) : (
              "No newer reading has arrived."
            )}
          </p>
        </div>
      )}
      {of.failed && !error && (
        <div class="banner error" role="status">
          <p>
            <strong>The latest reading failed</strong> <Ago at={of.failed.at} />: <bdi>{of.failed.what}</bdi>
          </p>
        </div>
      )}
      {of.partial && (
        <div class="banner warning" role="status">
          <p>
            <strong>This is not all.</strong> <bdi>{of.partial}</bdi>
          </p>
        </div>
      )}
    </>
  );
}

const missing = (error: ApiError): boolean => error.status === 404 && error.failure.code === "no-such-path";

/** Missing is shown where the program that answers does not know the path. */
const Missing = ({ what }: { what: string }) => (
  <Empty title="Not in this version">The keywright that runs here does not answer with {what}. The command line does.</Empty>
);

/** Answer draws loading and failure, and hands what arrived to its child. Its title is of a page without one of its own. */
export function Answer<T>(p: { of: Data<T>; what: string; title?: string; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = p.of;
  if (data !== undefined) {
    return (
      <>
        <Truth of={data as Measured} error={error} retry={reload} />
        {p.children(data)}
      </>
    );
  }
  return (
    <>
      {p.title && <h1 class="aside">{p.title}</h1>}
      {!error ? <Loading what={p.what} /> : missing(error) ? <Missing what={p.what} /> : <Failed error={error} retry={reload} />}
    </>
  );
}
