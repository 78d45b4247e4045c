// A dialog is the browser's own: it holds the focus and closes with Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog(p: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby="dialog-title"
      onClose={p.close}
      onClick={(e) => e.target === ref.current && ref.current?.close()}
    >
      <div class="sheet">
        <header>
          <h2 id="dialog-title">{p.title}</h2>
          <button type="button" class="button small" onClick={() => ref.current?.close()}>
            Close
          </button>
        </header>
        {p.children}
      </div>
    </dialog>
  );
}
