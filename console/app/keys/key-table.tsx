import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Key } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { spanText } from '../format.tsx';
import { LimitMeter } from '../limits/limit-meters.tsx';
import { countTitle, usedShare } from '../limits/limit-names.ts';
import { Scroll } from '../scroll.tsx';
import { TableHead } from '../table-head.tsx';
import { KeyState, KeyText, scopesText } from './key-facts.tsx';
import { endOf } from './key-life.ts';
import type { KeyOwner, KeyStep } from './key-owner.ts';

interface Props {
  readonly keys: readonly Key[];
  readonly owner: KeyOwner;
  readonly onStep: (step: KeyStep) => void;
}

export function KeyTable({ keys, owner, onStep }: Props) {
  const limits = owner.isLimited ? ['Last used', 'Limits'] : [];
  return (
    <Scroll label="Keys">
      <table class="rows">
        <TableHead columns={['Name', 'Key', 'May call', ...limits, 'State', ['Actions', 'unseen']]} />
        <tbody>
          {keys.map((key) => (
            <Row key={key.id} of={key} owner={owner} onStep={onStep} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

type RowProps = Omit<Props, 'keys'> & { readonly of: Key };

function Row({ of: key, owner, onStep }: RowProps) {
  const actions = [
    ...(owner.isLimited ? [['limits', 'Limits'] as const] : []),
    ['rotate', 'Rotate'] as const,
    ['revoke', 'Revoke'] as const,
  ];
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => onStep({ what: 'facts', key })}>
          {key.name}
        </button>
      </th>
      <td>
        <KeyText of={key} /> {key.id === owner.ownId && <span class="badge ok">this session</span>}
      </td>
      <td class="scopes">{scopesText(key)}</td>
      {owner.isLimited && (
        <>
          <td>{key.lastUsedAt === undefined ? 'never' : spanText(timestampDate(key.lastUsedAt))}</td>
          <td>
            <Limits of={key} />
          </td>
        </>
      )}
      <td>
        <KeyState of={key} />
      </td>
      <td>
        {endOf(key) === undefined && (
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
        )}
      </td>
    </tr>
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
