import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { Day, Time } from '../format.tsx';
import { LimitFacts } from '../limits/limit-meters.tsx';
import { endOf, lifeOf } from './key-life.ts';

export function KeyFacts({ of: key }: { readonly of: Key }) {
  return (
    <>
      <dl class="facts">
        <div>
          <dt>Key</dt>
          <dd>
            <KeyText of={key} />
          </dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <code>{key.id}</code>
          </dd>
        </div>
        <div>
          <dt>May call</dt>
          <dd>{scopesText(key)}</dd>
        </div>
        <div>
          <dt>State</dt>
          <dd>
            <KeyState of={key} />
          </dd>
        </div>
        <div>
          <dt>Made</dt>
          <dd>{key.createdAt && <Day at={key.createdAt} />}</dd>
        </div>
        <div>
          <dt>Last used</dt>
          <dd>{key.lastUsedAt === undefined ? 'never' : <Time at={key.lastUsedAt} />}</dd>
        </div>
        <div>
          <dt>Expires</dt>
          <dd>{key.expiresAt === undefined ? 'never' : <Time at={key.expiresAt} />}</dd>
        </div>
      </dl>
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
