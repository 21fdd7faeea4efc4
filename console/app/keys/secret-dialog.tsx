import { CopyButton } from '../../shared/copy-button.tsx';
import { Dialog } from '../dialog.tsx';

/** A new key, which only its holder can keep. */
export function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>Copy it now. It is shown this once: the server keeps only its hash.</p>
      <p class="secret">
        <input
          aria-label="The new key"
          readOnly
          value={secret}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <CopyButton text={secret} />
      </p>
    </Dialog>
  );
}
