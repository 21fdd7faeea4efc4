/** An operator's first page: whether the server works, and how much it did. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { GetServerStateResponse } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { Credits, spanText } from '../format.tsx';
import { mayDo, type SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';
import { daysAgo, readTotals, served } from '../usage/source.ts';
import { Today } from '../usage/today.tsx';
import { Activity, Fact } from './activity.tsx';
import { FirstOutput } from './first-output.tsx';

const days = 14;

export function OverviewPage({ session }: { readonly session: SignedIn }) {
  return (
    <>
      <h1>Overview</h1>
      {session.key.scopes.length > 0 && (
        <p class="quiet">Your key may do: {session.key.scopes.join(', ')}.</p>
      )}
      {mayDo(session, 'server:read') && <ServerFacts />}
      {mayDo(session, 'usage:read') && (
        <>
          <UsageFacts />
          <Activity session={session} />
        </>
      )}
    </>
  );
}

function ServerFacts() {
  const server = useLoaded('server', (signal) => admin.getServerState({}, { signal }));
  return (
    <Show of={server} what="the server">
      {(state) => <Server state={state} />}
    </Show>
  );
}

function UsageFacts() {
  const totals = useLoaded('totals', async (signal) => {
    const all = await readTotals(
      'admin',
      { from: daysAgo(days - 1), groupBy: ['day', 'operation', 'state'] },
      signal,
    );
    return all.filter(({ operation }) => served.some((name) => name === operation));
  });
  return (
    <Show of={totals} what="the usage">
      {(value) => (
        <Today totals={value} days={days}>
          {(today) => (
            <div>
              <dt>Credits</dt>
              <dd>
                <Credits nano={today.reduce((sum, { costNanoCredits }) => sum + costNanoCredits, 0n)} />
              </dd>
            </div>
          )}
        </Today>
      )}
    </Show>
  );
}

function Server({
  state: { version, startedAt, engines, models },
}: {
  readonly state: GetServerStateResponse;
}) {
  const down = engines.filter(({ up }) => !up);
  const unavailable = models.filter(({ available }) => !available);
  return (
    <>
      {down.length + unavailable.length > 0 && (
        <ul class="notes" aria-label="Needs your attention">
          {down.map(({ name }) => (
            <li key={name}>
              <strong>The engine {name} cannot be reached.</strong>{' '}
              <a href="/console/server">Show the server</a>
            </li>
          ))}
          {unavailable.map(({ id, reason }) => (
            <li key={id}>
              <strong>{id} cannot be called.</strong> {reason}
            </li>
          ))}
        </ul>
      )}
      <div class="cards">
        <Fact title="Engines" note="can be reached">
          {`${engines.length - down.length} of ${engines.length}`}
        </Fact>
        <Fact title="Models" note="can be called">
          {`${models.length - unavailable.length} of ${models.length}`}
        </Fact>
        <Fact
          title="Parley"
          note={`started ${startedAt === undefined ? '' : spanText(timestampDate(startedAt))}`}
        >
          {version}
        </Fact>
      </div>
      <FirstOutput engines={engines} />
    </>
  );
}
