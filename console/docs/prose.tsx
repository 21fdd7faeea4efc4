import type { ComponentChildren } from 'preact';

/** Text with paragraphs, lists of lines that begin with `- `, and code in backticks. */
export function Prose({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <div class="prose">
      {text.split('\n\n').map((block) =>
        block.startsWith('- ') ? (
          <ul key={block}>
            {block.split('\n').map((line) => (
              <li key={line}>{inline(line.slice(2))}</li>
            ))}
          </ul>
        ) : (
          <p key={block}>{inline(block)}</p>
        ),
      )}
    </div>
  );
}

/** Code in backticks. */
export function inline(text: string): ComponentChildren {
  return text
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? <code key={part + index}>{part}</code> : part));
}
