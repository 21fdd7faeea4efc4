import { highlighted } from './highlight.ts';

/** Code with colors. */
export function Colored({ text, language }: { readonly text: string; readonly language: string }) {
  return (
    <>
      {highlighted(text, language).map((piece) =>
        piece.kind === undefined ? piece.text : <span class={`is-${piece.kind}`}>{piece.text}</span>,
      )}
    </>
  );
}
