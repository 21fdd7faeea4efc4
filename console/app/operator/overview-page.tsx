/** An operator's first page: what the server does, what needs a person, and who used it. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { GetServerStateResponse } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { spanText, wholeText } from '../format.tsx';
import { mayDo, type SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';
import { PeriodChoice } from '../usage/period-choice.tsx';
import { type PeriodName, usePeriod } from '../usage/periods.ts';
import { Activity } from './activity.tsx';
import { Needs } from './needs.tsx';
import { UseChart } from './use-chart.tsx';

const offered: readonly PeriodName[] = ['today', '7d', '30d', 'dates'];

export function OverviewPage({ session }: { readonly session: SignedIn }) {
  const chosen = usePeriod('today');
  const seesUse = mayDo(session, 'usage:read');
  const seesServer = mayDo(session, 'server:read');
  const server = useLoaded('server', async (signal) =>
    seesServer ? admin.getServerState({}, { signal }) : undefined,
  );
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        {seesUse && <PeriodChoice chosen={chosen} names={offered} />}
      </div>
      {session.key.scopes.length > 0 && (
        <p class="quiet">Your key may do: {session.key.scopes.join(', ')}.</p>
      )}
      {seesServer && (
        <Show of={server} what="the server">
          {(state) => state && <Status state={state} />}
        </Show>
      )}
      {seesUse && <UseChart chosen={chosen} session={session} />}
      <Needs session={session} state={server.value} />
      {seesUse && <Activity chosen={chosen} session={session} />}
    </>
  );
}

function Status({
  state: { version, startedAt, engines, models },
}: {
  readonly state: GetServerStateResponse;
}) {
  const up = engines.filter((engine) => engine.up).length;
  const callable = models.filter(({ available }) => available).length;
  const isWell = up === engines.length && callable === models.length;
  return (
    <p class="status">
      <span class={`badge ${isWell ? 'ok' : 'failed'}`}>{isWell ? 'works' : 'needs attention'}</span>
      <a href="/console/server">{partText(up, engines.length, 'engine')} up</a>
      <a href="/console/models">{partText(callable, models.length, 'model')} callable</a>
      <span class="quiet">
        Parley {version}, started {startedAt && spanText(timestampDate(startedAt))}
      </span>
    </p>
  );
}

/** Such as `3 engines` or `2 of 3 engines`. */
function partText(count: number, all: number, noun: string): string {
  const nouns = all === 1 ? noun : `${noun}s`;
  return count === all ? `${wholeText(all)} ${nouns}` : `${wholeText(count)} of ${wholeText(all)} ${nouns}`;
}
