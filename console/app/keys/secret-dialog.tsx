import type { ComponentChildren } from 'preact';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Dialog } from '../dialog.tsx';

interface Props {
  readonly title: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** Advice on the use of the secret. */
  readonly children: ComponentChildren;
}

/** Shows a new secret, which only its holder can keep. */
export function SecretDialog({ title, secret, onClose, children }: Props) {
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
