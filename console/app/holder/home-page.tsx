/** Home: plan, credits and fair use, the requests of today, and the next steps. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Account, UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { account, management } from '../api.ts';
import { Count, durationText, Figure } from '../format.tsx';
import { LimitsCard } from '../limits/limit-meters.tsx';
import { CreditsCard, FairUseCard, PlanCard } from '../meters.tsx';
import type { SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';
import { unfiltered } from '../usage/record-list.tsx';
import { daysAgo, readRecords, readTotals, served, type Total } from '../usage/source.ts';
import { countOf, Today } from '../usage/today.tsx';
import { type Advice as AdviceItem, adviceFor } from './advice.tsx';
import { FirstRequest } from './first-request.tsx';

const barDays = 14;
const recordsForLatency = 200;

interface Facts {
  readonly own: Account;
  readonly key: Key;
  readonly totals: readonly Total[];
  readonly records: readonly UsageRecord[];
}

async function readFacts(signal: AbortSignal): Promise<Facts> {
  const today = { ...unfiltered, id: '', startTime: timestampFromDate(daysAgo(0)) };
  const [{ account: own }, { key }, totals, page] = await Promise.all([
    account.getAccount({}, { signal }),
    management.getKey({}, { signal }),
    readTotals('account', { from: daysAgo(barDays - 1), groupBy: ['day', 'operation', 'state'] }, signal),
    readRecords('account', today, { size: recordsForLatency }, signal),
  ]);
  if (own === undefined || key === undefined) throw new Error('The server sent no account.');
  const isServed = ({ operation }: Total) => served.some((name) => name === operation);
  return { own, key, totals: totals.filter(isServed), records: page.items };
}

export function HomePage({ session }: { readonly session: SignedIn }) {
  const facts = useLoaded('home', readFacts);
  return (
    <>
      <h1>{session.account_name}</h1>
      <Show of={facts} what="your account">
        {({ own, key, totals, records }) => (
          <>
            <Advice of={adviceFor(own, key, session)} />
            <div class="cards">
              <PlanCard account={own} />
              <CreditsCard account={own} />
              <FairUseCard account={own} />
              <LimitsCard title="Limits of your account" owner={own} />
              <LimitsCard title="Limits of this key" owner={key} />
            </div>
            {totals.length > 0 && (
              <Today totals={totals} days={barDays}>
                {(today) => (
                  <>
                    <Figure name="Refused">
                      <Count value={countOf(today.filter(({ state }) => state === 'refused'))} />
                    </Figure>
                    <Latency records={records} />
                  </>
                )}
              </Today>
            )}
            <FirstRequest />
          </>
        )}
      </Show>
    </>
  );
}

function Advice({ of: advice }: { readonly of: readonly AdviceItem[] }) {
  if (advice.length === 0) return null;
  return (
    <ul class="notes" aria-label="What to do next">
      {advice.map(({ title, text }) => (
        <li key={title}>
          <strong>{title}</strong> {text}
        </li>
      ))}
    </ul>
  );
}

/** Medians over the newest requests of today. */
function Latency({ records }: Pick<Facts, 'records'>) {
  const sorted = (of: (record: UsageRecord) => number | undefined) =>
    records
      .filter(({ state }) => state === 'ok')
      .flatMap((record) => of(record) ?? [])
      .sort((one, other) => one - other);
  const firsts = sorted(({ firstOutputMs }) => firstOutputMs);
  const durations = sorted(({ durationMs }) => durationMs);
  const median = (values: readonly number[]) => values[Math.floor(values.length / 2)];
  const shown = (value: number | undefined) => (value === undefined ? '–' : durationText(value));
  return (
    <>
      <Figure name="Median time" title={`The median of the newest ${durations.length} requests of today`}>
        {shown(median(durations))}
      </Figure>
      <Figure name="First output" title={`The median of the newest ${firsts.length} requests of today`}>
        {shown(median(firsts))}
      </Figure>
    </>
  );
}
