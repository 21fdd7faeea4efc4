/** Parts that scroll by themselves. */
import type { ComponentChildren } from 'preact';

interface Props {
  readonly label: string;
  readonly isTall?: boolean;
  readonly children: ComponentChildren;
}

/** A wide table. It takes the focus, so that the keyboard can scroll it. */
export function Scroll({ label, isTall = false, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class={isTall ? 'scroll tall' : 'scroll'} tabIndex={0} aria-label={label}>
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
