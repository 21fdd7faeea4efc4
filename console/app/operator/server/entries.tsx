/** The engines, models and conversations of parley.yaml, which are changed here. */
import { useState } from 'preact/hooks';
import type {
  ConfigurationEntry,
  GetConfigurationResponse,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { Message } from '../../format.tsx';
import { type DataColumn, DataTable } from '../../table/data-table.tsx';
import { EntryDialog, ReviewDialog } from './entry-dialog.tsx';

interface Props {
  readonly of: GetConfigurationResponse;
  readonly onSaved: () => void;
}

/** What an open dialog changes: an entry, its removal, or the last change. */
type Open =
  | {
      readonly kind: 'edit' | 'remove';
      readonly entry: Pick<ConfigurationEntry, 'section' | 'name' | 'yaml'>;
    }
  | { readonly kind: 'undo' };

const newModel = {
  section: 'models',
  name: '',
  yaml: 'id: \ntype: chat\nengine: \nprice: { input: 0, output: 0 }\ncontextTokens: 8192\n',
};

const sectionNames: Readonly<Record<string, string>> = {
  engines: 'engine',
  models: 'model',
  realtime: 'conversation',
};

export function Entries({ of: file, onSaved }: Props) {
  const [open, setOpen] = useState<Open>();
  const { path, version, entries, problem, canUndo } = file;
  const isFixed = problem !== undefined;
  const close = () => setOpen(undefined);
  const saved = () => {
    close();
    onSaved();
  };
  const columns: readonly DataColumn<ConfigurationEntry>[] = [
    { title: 'Name', form: 'row', cell: ({ name }) => name },
    { title: 'Is', cell: ({ section }) => sectionNames[section] ?? section },
    {
      title: 'Change',
      cell: (entry) =>
        isFixed || entry.readOnly ? (
          'in the file'
        ) : (
          <div class="actions">
            <button
              type="button"
              aria-label={`Edit ${entry.name}`}
              onClick={() => setOpen({ kind: 'edit', entry })}
            >
              Edit
            </button>
            <button
              type="button"
              aria-label={`Remove ${entry.name}`}
              onClick={() => setOpen({ kind: 'remove', entry })}
            >
              Remove
            </button>
          </div>
        ),
    },
  ];
  return (
    <section class="card">
      <div class="title">
        <h2>{path.replace('./', '') || 'Configuration'}</h2>
        {!isFixed && (
          <button type="button" onClick={() => setOpen({ kind: 'edit', entry: newModel })}>
            Add a model
          </button>
        )}
        {!isFixed && canUndo && (
          <button type="button" onClick={() => setOpen({ kind: 'undo' })}>
            Undo the last change
          </button>
        )}
      </div>
      {isFixed && (
        <p class="notes">
          <Message text={problem} />
        </p>
      )}
      <DataTable
        id="entries"
        label="Entries of the file"
        columns={columns}
        rows={entries}
        keyOf={({ section, name }) => `${section} ${name}`}
        contents={version}
      />
      {open?.kind === 'edit' && (
        <EntryDialog version={version} entry={open.entry} onSaved={saved} onClose={close} />
      )}
      {open?.kind === 'remove' && (
        <ReviewDialog
          title={`Remove ${open.entry.name}`}
          isGrave
          make={(validateOnly) =>
            admin.changeConfiguration({ version, validateOnly, edits: [{ ...pick(open.entry), yaml: '' }] })
          }
          onSaved={saved}
          onClose={close}
        />
      )}
      {open?.kind === 'undo' && (
        <ReviewDialog
          title="Undo the last change"
          make={(validateOnly) => admin.undoConfigurationChange({ version, validateOnly })}
          onSaved={saved}
          onClose={close}
        />
      )}
    </section>
  );
}

const pick = ({ section, name }: Pick<ConfigurationEntry, 'section' | 'name'>) => ({ section, name });
