import type { ComponentChildren } from 'preact';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Dialog } from '../dialog.tsx';

interface Props {
  /** Default: that of a key. */
  readonly title?: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** What to do with it. Default: that of a key. */
  readonly children?: ComponentChildren;
}

/** A new secret, which only its holder can keep. */
export function SecretDialog({
  title = 'The new key',
  secret,
  onClose,
  children = 'Copy it now. It is shown this once: the server keeps only its hash.',
}: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <p class="secret">
        <input
          aria-label={title}
          readOnly
          value={secret}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <CopyButton text={secret} />
      </p>
    </Dialog>
  );
}
