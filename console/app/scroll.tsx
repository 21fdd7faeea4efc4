/** Parts that scroll by themselves. */
import type { ComponentChildren, RefObject } from 'preact';

interface Props {
  readonly label: string;
  readonly isTall?: boolean;
  readonly target?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

/** A wide table. It takes the focus, so that the keyboard can scroll it. */
export function Scroll({ label, isTall = false, target, children }: Props) {
  return (
    <section
      {...(target && { ref: target })}
      class={isTall ? 'scroll tall' : 'scroll'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label={label}
    >
      {children}
    </section>
  );
}

export function Code({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <pre tabIndex={0}>{text}</pre>
  );
}
