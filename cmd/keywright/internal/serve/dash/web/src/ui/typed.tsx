// A box for a text that is searched for. It keeps what is typed, whatever is drawn again, and hands it on when one pauses.
import { useEffect, useState } from "preact/hooks";

interface Props {
  label: string;
  text: string; // that was handed on, or is part of the view's address
  class?: string;
  typing?: (yes: boolean) => void; // whether what is typed was not handed on yet
  done: (text: string) => void;
}

export function Typed(p: Props) {
  const [draft, set] = useState(p.text);
  const [known, setKnown] = useState(p.text);
  if (known !== p.text) { // it was changed by something else than this box, or is what this box has handed on
    setKnown(p.text);
    set(p.text);
  }
  const hand = (text: string) => {
    if (text !== p.text) p.done(text);
  };
  useEffect(() => {
    p.typing?.(draft !== p.text);
    if (draft === p.text) return;
    const timer = setTimeout(() => hand(draft), 500);
    return () => clearTimeout(timer);
  }, [draft, p.text]);
  return (
    <input
      type="search"
      class={p.class}
      aria-label={p.label}
      placeholder={p.label}
      value={draft}
      onInput={(e) => {
        set(e.currentTarget.value);
        p.typing?.(e.currentTarget.value !== p.text); // at once: no button acts on what was there before
      }}
      onKeyDown={(e) => e.key === "Enter" && hand(draft)}
    />
  );
}
