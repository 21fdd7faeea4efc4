import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { Day, Facts, Time } from '../format.tsx';
import { LimitFacts } from '../limits/limit-meters.tsx';
import { endOf, lifeOf } from './key-life.ts';

export function KeyFacts({ of: key }: { readonly of: Key }) {
  return (
    <>
      <Facts
        of={[
          ['Key', <KeyText key="key" of={key} />],
          ['Id', <code key="id">{key.id}</code>],
          ['May call', scopesText(key)],
          ['State', <KeyState key="state" of={key} />],
          ['Made', key.createdAt && <Day at={key.createdAt} />],
          ['Last used', key.lastUsedAt ? <Time at={key.lastUsedAt} /> : 'never'],
          ['Expires', key.expiresAt ? <Time at={key.expiresAt} /> : 'never'],
        ]}
      />
      {key.limits !== undefined && (
        <>
          <h3 class="above">Limits</h3>
          <LimitFacts owner={key} />
        </>
      )}
    </>
  );
}

export function KeyText({ of: { prefix, lastFour } }: { readonly of: Key }) {
  return (
    <code>
      {prefix}…{lastFour}
    </code>
  );
}

export function KeyState({ of: key }: { readonly of: Key }) {
  return <span class={`badge ${endOf(key) === undefined ? 'ok' : 'refused'}`}>{lifeOf(key)}</span>;
}

export const scopesText = ({ scopes }: Pick<Key, 'scopes'>): string =>
  scopes.length === 0 ? 'administration' : scopes.join(', ');
