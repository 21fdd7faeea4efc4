/** The kept conversations, to open, rename and delete. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { CallForm, Dialog } from '../../dialog.tsx';
import { Field } from '../../fields.tsx';
import { spanText } from '../../format.tsx';
import { Show, useLoaded } from '../../states.tsx';
import {
  conversationsMax,
  deleteKept,
  type Kept,
  keptChanges,
  listKept,
  renameKept,
} from './kept-conversations.ts';

interface Props {
  readonly owner: string;
  /** Id of the conversation on the page. */
  readonly current: string | undefined;
  readonly onOpen: (id: string | undefined) => Promise<void>;
}

export function ConversationList({ owner, current, onOpen }: Props) {
  const kept = useLoaded(`kept ${owner}`, () => listKept(owner));
  const [edited, setEdited] = useState<Kept>();
  const [isDeleting, setDeleting] = useState(false);
  useLayoutEffect(() => {
    keptChanges.addEventListener('change', kept.reload);
    return () => keptChanges.removeEventListener('change', kept.reload);
  }, []);
  const remove = async (ids: readonly string[]) => {
    if (current !== undefined && ids.includes(current)) await onOpen(undefined);
    await deleteKept(ids);
  };
  return (
    <section class="card kept" aria-label="Conversations">
      <h2>Conversations</h2>
      <p class="quiet">
        <small>
          Kept in this browser only, the last {conversationsMax}, until you delete them. Whoever uses this
          browser can read them.
        </small>
      </p>
      <Show of={kept} what="the conversations">
        {(all) => (
          <>
            <ul>
              {all.map((one) => (
                <li key={one.id}>
                  <button
                    type="button"
                    class="link"
                    aria-current={one.id === current}
                    onClick={() => void onOpen(one.id)}
                  >
                    {one.title}
                  </button>
                  <small class="quiet">{spanText(new Date(one.changedMs))}</small>
                  <button type="button" onClick={() => setEdited(one)}>
                    Edit <span class="unseen">{one.title}</span>
                  </button>
                </li>
              ))}
            </ul>
            {all.length > 0 && (
              <button type="button" onClick={() => setDeleting(true)}>
                Delete all
              </button>
            )}
            {isDeleting && (
              <DeleteDialog
                title="Delete all conversations"
                onDelete={() => remove(all.map(({ id }) => id))}
                onClose={() => setDeleting(false)}
              />
            )}
          </>
        )}
      </Show>
      {edited && (
        <EditDialog of={edited} onDelete={() => remove([edited.id])} onClose={() => setEdited(undefined)} />
      )}
    </section>
  );
}

interface DialogProps {
  readonly onDelete: () => Promise<void>;
  readonly onClose: () => void;
}

function EditDialog({ of: { id, title }, onDelete, onClose }: DialogProps & { readonly of: Kept }) {
  return (
    <Dialog title="Conversation" onClose={onClose}>
      <CallForm
        action="Rename"
        onSubmit={async (values) => {
          await renameKept(id, String(values.get('title')).trim());
          onClose();
        }}
      >
        <Field
          label="Title"
          name="title"
          required
          pattern=".*\S.*"
          maxLength={100}
          autocomplete="off"
          defaultValue={title}
        />
      </CallForm>
      <hr />
      <CallForm
        action="Delete the conversation"
        isGrave
        onSubmit={async () => {
          await onDelete();
          onClose();
        }}
      />
    </Dialog>
  );
}

function DeleteDialog({ title, onDelete, onClose }: DialogProps & { readonly title: string }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <CallForm
        action="Delete all"
        isGrave
        onSubmit={async () => {
          await onDelete();
          onClose();
        }}
      >
        <p>This browser has the only copies. This cannot be undone.</p>
      </CallForm>
    </Dialog>
  );
}
