// A button that makes a plan. Nothing changes by it: the plan's page asks before anything does.
import { useState } from "preact/hooks";
import type { Me, Plan } from "../api";
import { ApiError, changed, request, send } from "../data";
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

/** settled waits until a plan is not made or executed any more. */
async function settled(target: string, plan: Plan): Promise<Plan> {
  for (let p = plan; ; p = await request<Plan>(at(["t", target, "plans", plan.id]))) {
    if (!["planning", "running", "stopping"].includes(p.state)) return p;
    await new Promise((done) => setTimeout(done, 300));
  }
}

/** One does something with one job at once: by a plan that is made, and executed if it means this job alone. */
export function One({ me, target, verb, select, words, tone }: Props) {
  const [said, say] = useState<string>();
  if (!mayAct(me)) return null;
  const act = async (): Promise<string> => {
    const plan = await settled(target, await send<Plan>(at(["t", target, "plans"]), { verb, select }));
    if (plan.problem) return plan.problem;
    if (plan.change !== 1) return plan.refusals[0]?.what ?? "It is not there any more.";
    await send(at(["t", target, "plans", plan.id, "apply"]));
    const done = await settled(target, await request<Plan>(at(["t", target, "plans", plan.id])));
    changed(target, ["runs", "dead", "queues"]);
    return done.problem ?? (done.did?.changed === 1 ? "Done" : "It was left alone.");
  };
  return (
    <>
      <button
        type="button"
        class={`button small ${tone ?? ""}`}
        disabled={said === "…" || said === "Done"}
        onClick={async () => {
          say("…");
          say(await act().catch((e: unknown) => (e instanceof ApiError ? [e.failure.message, e.failure.hint].filter(Boolean).join(" ") : String(e))));
        }}
      >
        {said === "…" || said === "Done" ? `${words}: ${said === "…" ? "under way" : "done"}` : words}
      </button>
      {said && said !== "…" && said !== "Done" && (
        <span class="problem" role="alert">
          {said}
        </span>
      )}
    </>
  );
}
