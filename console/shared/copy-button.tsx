import { useState } from 'preact/hooks';

interface Props {
  readonly text: string;
  readonly onCopied?: () => void;
}

/** Copies a text. Browsers allow it on pages over TLS and from this machine. */
export function CopyButton({ text, onCopied }: Props) {
  const [isCopied, setCopied] = useState(false);
  if (navigator.clipboard === undefined) return null;
  return (
    <button
      type="button"
      onClick={async () => {
        await navigator.clipboard.writeText(text);
        setCopied(true);
        onCopied?.();
      }}
      onBlur={() => setCopied(false)}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
