// A button that makes a plan. Nothing changes by it: the plan's page asks before anything does.
import { useState } from "preact/hooks";
import type { Me, Plan } from "../api";
import { ApiError, changed, send } from "../data";
import { at, view } from "../route";

export const mayAct = (me: Me): boolean => me.allow_apply && me.role === "operator";

/** whyNot says why a person cannot change anything here. */
export const whyNot = (me: Me): string | undefined =>
  !me.allow_apply
    ? "Nothing can be changed here: keywright serve runs without --allow-apply."
    : me.role !== "operator"
      ? "Your role is viewer: an operator can do this."
      : undefined;

interface Props {
  me: Me;
  target: string;
  verb: string;
  select: Record<string, string>;
  words: string;
  tone?: string;
  off?: boolean;
}

export function Act({ me, target, verb, select, words, tone, off }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const no = whyNot(me);
  if (no) return <span class="note locked" title={no}>{words}: {me.allow_apply ? "operators only" : "read-only"}</span>;
  return (
    <>
      <button
        type="button"
        class={`button small ${tone ?? ""}`}
        disabled={busy || off}
        onClick={async () => {
          setBusy(true);
          setProblem(undefined);
          try {
            const plan = await send<Plan>(at(["t", target, "plans"]), { verb, select });
            changed(target, ["runs"]);
            location.hash = view(["t", target, "runs", plan.id]);
          } catch (e) {
            setProblem(e instanceof ApiError ? [e.failure.message, e.failure.hint].filter(Boolean).join(" ") : String(e));
          } finally {
            setBusy(false);
          }
        }}
      >
        {busy ? "Planning…" : `${words}…`}
      </button>
      {problem && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
