import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Dialog } from '../dialog.tsx';

interface Props {
  readonly title: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** Advice on the use of the secret. */
  readonly children: ComponentChildren;
}

/** Shows a new secret, which only its holder can keep. Closes once it is copied, or said to be kept. */
export function SecretDialog({ title, secret, onClose, children }: Props) {
  const [isKept, setKept] = useState(false);
  const keep = () => setKept(true);
  return (
    <Dialog title={title} isHeld={!isKept} onClose={onClose}>
      <p>{children}</p>
      <p class="secret">
        <input
          aria-label={title}
          readOnly
          value={secret}
          onFocus={({ currentTarget }) => currentTarget.select()}
          onCopy={keep}
        />
        <CopyButton text={secret} onCopied={keep} />
      </p>
      <button type="button" class="primary" onClick={onClose}>
        I have stored it
      </button>
    </Dialog>
  );
}
