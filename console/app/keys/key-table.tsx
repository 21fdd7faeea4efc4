import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { Day, spanText } from '../format.tsx';
import { LimitMeter } from '../limits/limit-meters.tsx';
import { countTitle, usedShare } from '../limits/limit-names.ts';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { KeyState, KeyText, scopesText } from './key-facts.tsx';
import { endOf, lifeOf } from './key-life.ts';
import type { KeyOwner, KeyStep } from './key-owner.ts';

interface Props {
  readonly keys: readonly Key[];
  readonly owner: KeyOwner;
  readonly onStep: (step: KeyStep) => void;
}

export function KeyTable({ keys, owner, onStep }: Props) {
  return (
    <DataTable
      id={owner.isLimited ? 'keys' : 'admin-keys'}
      label="Keys"
      columns={columnsOf(owner, onStep)}
      rows={keys}
      keyOf={({ id }) => id}
    />
  );
}

function columnsOf(owner: KeyOwner, onStep: Props['onStep']): readonly DataColumn<Key>[] {
  const limits: DataColumn<Key> = { title: 'Limits', rank: 4, cell: (key) => <Limits of={key} /> };
  return [
    {
      title: 'Name',
      form: 'row',
      order: ({ name }) => name,
      cell: (key) => (
        <button
          type="button"
          class="link name"
          title={key.name}
          onClick={() => onStep({ what: 'facts', key })}
        >
          {key.name}
        </button>
      ),
    },
    {
      title: 'Key',
      rank: 1,
      isSecond: true,
      cell: (key) => (
        <>
          <KeyText of={key} /> {key.id === owner.ownId && <span class="badge ok">this session</span>}
        </>
      ),
    },
    { title: 'May call', form: 'scopes', rank: 5, order: scopesText, cell: scopesText },
    {
      title: 'Last used',
      rank: 2,
      isSecond: true,
      order: ({ lastUsedAt }) => lastUsedAt?.seconds,
      cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'never' : spanText(timestampDate(lastUsedAt))),
    },
    ...(owner.isLimited ? [limits] : []),
    {
      title: 'Made',
      rank: 7,
      order: ({ createdAt }) => createdAt?.seconds,
      cell: ({ createdAt }) => createdAt && <Day at={createdAt} />,
    },
    {
      title: 'Expires',
      rank: 6,
      order: ({ expiresAt }) => expiresAt?.seconds,
      cell: ({ expiresAt }) => (expiresAt ? <Day at={expiresAt} /> : '–'),
    },
    { title: 'State', rank: 3, isSecond: true, order: lifeOf, cell: (key) => <KeyState of={key} /> },
    {
      title: 'Actions',
      form: 'actions',
      cell: (key) => endOf(key) === undefined && <Actions of={key} owner={owner} onStep={onStep} />,
    },
  ];
}

type ActionsProps = Omit<Props, 'keys'> & { readonly of: Key };

function Actions({ of: key, owner, onStep }: ActionsProps) {
  const actions = [
    ...(owner.isLimited ? [['limits', 'Limits'] as const] : []),
    ...(key.invitation ? [] : [['rotate', 'Rotate'] as const]),
    ['revoke', 'Revoke'] as const,
  ];
  return (
    <span class="row-actions">
      {actions.map(([what, words]) => (
        <button
          key={what}
          type="button"
          aria-label={`${words} ${key.name}`}
          onClick={() => onStep({ what, key })}
        >
          {words}
        </button>
      ))}
    </span>
  );
}

/** The most used limit. The key's dialog shows all. */
function Limits({ of: { limits, limitCounts } }: { readonly of: Key }) {
  if (limits === undefined) return <span class="quiet">none</span>;
  const [most] = limitCounts.toSorted((one, other) => usedShare(other) - usedShare(one));
  if (most === undefined) return <>set</>;
  return (
    <div title={countTitle(most)}>
      <LimitMeter count={most} />
    </div>
  );
}
