import { useState } from 'preact/hooks';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { Show, useLoaded } from '../states.tsx';
import { KeyTable } from './key-table.tsx';
import { SecretDialog } from './secret-dialog.tsx';

export function AdminKeysPage() {
  const keys = useLoaded('admin keys', async (signal) => (await admin.listAdminKeys({}, { signal })).keys);
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <div class="title">
        <h1>Admin keys</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          New admin key
        </button>
      </div>
      <section class="card">
        <p class="quiet">Whoever has one of these can do all that you can do here.</p>
        <Show of={keys} what="the admin keys">
          {(value) => <KeyTable keys={value} onChange={keys.reload} />}
        </Show>
      </section>
      {isMaking && (
        <Dialog title="New admin key" onClose={() => setMaking(false)}>
          <CallForm
            action="Make the key"
            onSubmit={async (values) => {
              const made = await admin.createAdminKey({ name: String(values.get('name')) });
              setMaking(false);
              setSecret(made.secret);
              keys.reload();
            }}
          >
            <Field
              label="Name"
              name="name"
              required
              maxLength={100}
              autocomplete="off"
              hint="Who or what uses it"
            />
          </CallForm>
        </Dialog>
      )}
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
