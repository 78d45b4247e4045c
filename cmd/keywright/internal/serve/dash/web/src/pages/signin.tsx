import { useState } from "preact/hooks";
import { ApiError, send } from "../data";

export function SignIn({ done }: { done: () => void }) {
  const [token, set] = useState("");
  const [problem, setProblem] = useState<string>();
  return (
    <main class="signin" id="main">
      <form
        onSubmit={async (e) => {
          e.preventDefault();
          setProblem(undefined);
          try {
            await send("api/v1/session", { token });
            done();
          } catch (e) {
            setProblem(e instanceof ApiError && e.status !== 401 ? e.failure.message : "This token is not known.");
          }
        }}
      >
        <h1>keywright</h1>
        <label class="field">
          <span>Token</span>
          <input type="password" autocomplete="current-password" required value={token} onInput={(e) => set(e.currentTarget.value)} />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="button primary">
          Sign in
        </button>
        <p class="note">The operator of this instance hands out tokens.</p>
      </form>
    </main>
  );
}
