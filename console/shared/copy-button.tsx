import { useState } from 'preact/hooks';

/** Copies a text. Browsers allow it on pages over TLS and from this machine. */
export function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  if (navigator.clipboard === undefined) return null;
  return (
    <button
      type="button"
      onClick={async () => {
        await navigator.clipboard.writeText(text);
        setCopied(true);
      }}
      onBlur={() => setCopied(false)}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
