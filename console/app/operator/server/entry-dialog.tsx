/** Changes of an entry of parley.yaml: checked, shown line by line, then saved. */
import { useState } from 'preact/hooks';
import type {
  ChangeConfigurationResponse,
  ConfigurationEntry,
  UndoConfigurationChangeResponse,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { CallForm, Dialog } from '../../dialog.tsx';
import { Area, Field } from '../../fields.tsx';
import { Code } from '../../scroll.tsx';

type Outcome = ChangeConfigurationResponse | UndoConfigurationChangeResponse;

/** @throws Error with the findings, if the change was refused */
export function changed(outcome: Outcome): Outcome {
  if (outcome.findings.length > 0) throw new Error(outcome.findings.map(({ message }) => message).join(' '));
  return outcome;
}

export function Change({ diff }: { readonly diff: readonly string[] }) {
  if (diff.length === 0) return <p role="status">Nothing changes.</p>;
  return (
    <section aria-label="Change of parley.yaml">
      <p role="status">This changes parley.yaml, and is in use at once:</p>
      <Code text={diff.join('\n')} />
    </section>
  );
}

interface ReviewProps {
  readonly title: string;
  readonly isGrave?: boolean;
  /** Makes the change, or only checks it. */
  readonly make: (isTried: boolean) => Promise<Outcome>;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** A change without fields: a removal, or taking one back. */
export function ReviewDialog({ title, isGrave = false, make, onSaved, onClose }: ReviewProps) {
  const [diff, setDiff] = useState<readonly string[]>();
  const review = async () => {
    if (diff === undefined) return setDiff(changed(await make(true)).diff);
    changed(await make(false));
    onSaved();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {diff && <Change diff={diff} />}
      <CallForm
        action={diff === undefined ? 'Show what changes' : 'Save and use it'}
        isGrave={isGrave && diff !== undefined}
        onSubmit={review}
      />
    </Dialog>
  );
}

interface Props {
  readonly version: string;
  /** The entry to edit. Its name is empty for a new one. */
  readonly entry: Pick<ConfigurationEntry, 'section' | 'name' | 'yaml'>;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function EntryDialog({ version, entry, onSaved, onClose }: Props) {
  const { section, name } = entry;
  /** Undefined as soon as a field is changed. */
  const [diff, setDiff] = useState<readonly string[]>();
  const submit = async (values: FormData) => {
    const text = (field: string) => String(values.get(field) ?? '');
    const yaml = text('yaml');
    const own = name || (/^id: *["']?(.*?)["']? *(#.*)?$/m.exec(yaml)?.[1] ?? '');
    const apiKey = text('api_key').trim();
    const edits = [{ section, name: own, yaml, mustBeNew: name === '', ...(apiKey !== '' && { apiKey }) }];
    if (yaml.trim() === '') throw new Error('Write the settings of the entry.');
    const outcome = changed(
      await admin.changeConfiguration({ version, edits, validateOnly: diff === undefined }),
    );
    if (diff === undefined) setDiff(outcome.diff);
    else onSaved();
  };
  return (
    <Dialog title={name === '' ? 'Add a model' : `Edit ${name}`} onClose={onClose}>
      <div onInput={() => setDiff(undefined)}>
        <CallForm action={diff === undefined ? 'Check it' : 'Save and use it'} onSubmit={submit}>
          <Area
            label="Its settings in parley.yaml"
            name="yaml"
            rows={12}
            defaultValue={entry.yaml}
            hint="YAML. Comments stay."
          />
          {section === 'engines' && (
            <Field
              label="A new key"
              name="api_key"
              type="password"
              autocomplete="off"
              hint="Goes to a file that only the server reads. Empty: as before"
            />
          )}
          {diff && <Change diff={diff} />}
        </CallForm>
      </div>
    </Dialog>
  );
}
