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
      readonly kind: 'edit' | 'remove' | 'switch';
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
    { title: 'Name', form: 'row', order: ({ name }) => name, cell: ({ name }) => name },
    {
      title: 'Is',
      rank: 1,
      isSecond: true,
      order: ({ section }) => section,
      cell: ({ section }) => sectionNames[section] ?? section,
    },
    {
      title: 'Change',
      form: 'actions',
      cell: (entry) =>
        isFixed || entry.readOnly ? (
          <span class="row-actions quiet">in the file</span>
        ) : (
          <Changes of={entry} onChoose={(kind) => setOpen({ kind, entry })} />
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
      {entries.length > 0 && (
        <DataTable
          id="entries"
          label="Entries of the file"
          columns={columns}
          rows={entries}
          keyOf={({ section, name }) => `${section} ${name}`}
          contents={version}
        />
      )}
      {open?.kind === 'edit' && (
        <EntryDialog version={version} entry={open.entry} onSaved={saved} onClose={close} />
      )}
      {(open?.kind === 'remove' || open?.kind === 'switch') && (
        <ReviewDialog
          title={`${open.kind === 'remove' ? 'Remove' : switchWord(open.entry)} ${open.entry.name}`}
          isGrave={open.kind === 'remove'}
          make={(validateOnly) => {
            const { section, name } = open.entry;
            const yaml = open.kind === 'remove' ? '' : switched(open.entry);
            return admin.changeConfiguration({ version, validateOnly, edits: [{ section, name, yaml }] });
          }}
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

interface ChangesProps {
  readonly of: ConfigurationEntry;
  readonly onChoose: (kind: Exclude<Open['kind'], 'undo'>) => void;
}

function Changes({ of: entry, onChoose }: ChangesProps) {
  const changes = [
    ['edit', 'Edit'],
    ...(entry.section === 'realtime' ? [] : [['switch', switchWord(entry)] as const]),
    ['remove', 'Remove'],
  ] as const;
  return (
    <div class="row-actions">
      {changes.map(([kind, word]) => (
        <button key={kind} type="button" aria-label={`${word} ${entry.name}`} onClick={() => onChoose(kind)}>
          {word}
        </button>
      ))}
    </div>
  );
}

/** Entries have a line for each of their settings. */
const disabledLine = /^disabled: *true *(#.*)?\n/m;
const switchWord = ({ yaml }: Pick<ConfigurationEntry, 'yaml'>) =>
  disabledLine.test(yaml) ? 'Enable' : 'Disable';

function switched({ yaml }: Pick<ConfigurationEntry, 'yaml'>): string {
  return disabledLine.test(yaml)
    ? yaml.replace(disabledLine, '')
    : `${yaml.replace(/^disabled:.*\n/m, '')}disabled: true\n`;
}
