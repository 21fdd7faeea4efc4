/** A button that opens a list of actions. Those that destroy something stand apart, at its end. */
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Action {
  readonly words: string;
  readonly isGrave: boolean;
  readonly run: () => void;
}

export function ActionMenu({ actions }: { readonly actions: readonly Action[] }) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      if (event.target instanceof Node && menu.current?.contains(event.target)) return;
      setOpen(false);
    };
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, [isOpen]);
  // A dialog returns the focus to what had it before.
  const close = () => {
    menu.current?.querySelector('summary')?.focus();
    setOpen(false);
  };
  return (
    <details
      ref={menu}
      class="action-menu"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <summary class="button">More actions</summary>
      {isOpen && (
        <ul>
          {actions
            .toSorted((one, other) => Number(one.isGrave) - Number(other.isGrave))
            .map(({ words, isGrave, run }) => (
              <li key={words} class={isGrave ? 'apart' : undefined}>
                <button
                  type="button"
                  onClick={() => {
                    close();
                    run();
                  }}
                >
                  {words}
                </button>
              </li>
            ))}
        </ul>
      )}
    </details>
  );
}
