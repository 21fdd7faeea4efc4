/** Usage: a chart and a table of sums, and the single requests behind them. The filters are in the address. */

import { Choice, Segments } from '../fields.tsx';
import { Count, Credits } from '../format.tsx';
import { useQuery } from '../router.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { useAccountNames } from './account-names.ts';
import { Chart } from './chart.tsx';
import { dimensions, groupsOf, type Measure, measures, sumOf } from './measures.ts';
import { periods } from './periods.ts';
import { RecordList } from './record-list.tsx';
import { type Kind, readTotals, served, type Total } from './source.ts';
import { TotalsTable } from './totals-table.tsx';

const states = ['ok', 'failed', 'refused', 'cancelled', 'interrupted', 'replayed', 'started'];

interface Filters {
  readonly operation: string;
  readonly model: string;
  readonly state: string;
}

export function UsagePage({ kind }: { readonly kind: Kind }) {
  const [periodName, setPeriod] = useQuery('period');
  const [operation, setOperation] = useQuery('operation');
  const [model, setModel] = useQuery('model');
  const [state, setState] = useQuery('state');
  const [accountId, setAccount] = useQuery('account');
  const period = periods.find(({ name }) => name === periodName) ?? periods[0];
  const totals = useLoaded(`${period.name} ${accountId}`, (signal) => {
    const groupBy = [period.unit, 'operation', 'model', 'state'];
    const byAccount = kind === 'admin' && accountId === '';
    if (byAccount) groupBy.push('account');
    return readTotals(kind, { from: period.from(), groupBy, accountId }, signal);
  });
  const models = [...new Set((totals.value ?? []).flatMap((total) => total.model ?? []))].sort();
  const names = useAccountNames(kind, totals.value);
  return (
    <>
      <div class="title">
        <h1>Usage</h1>
        <Segments
          label="Period"
          value={period.name}
          onChange={(name) => setPeriod(name === periods[0].name ? '' : name)}
          options={periods.map(({ name, label }) => ({ value: name, text: label }))}
        />
      </div>
      <div class="filters">
        {kind === 'admin' && (
          <Choice
            label="Account"
            value={accountId}
            onChange={setAccount}
            all="All accounts"
            options={[...names]}
          />
        )}
        <Choice
          label="Operation"
          value={operation}
          onChange={setOperation}
          all="All operations"
          options={served}
        />
        <Choice
          label="Model"
          value={model}
          onChange={setModel}
          all="All models"
          options={withOwn(models, model)}
        />
        <Choice label="State" value={state} onChange={setState} all="All states" options={states} />
      </div>
      <Show of={totals} what="the totals">
        {(all) => (
          <Sums
            kind={kind}
            names={names}
            period={period}
            totals={filtered(all, { operation, model, state })}
          />
        )}
      </Show>
      <RecordList kind={kind} names={names} period={period} filter={{ operation, model, state, accountId }} />
    </>
  );
}

/** A model of the address that has no usage is still a choice. */
function withOwn(models: readonly string[], own: string): readonly string[] {
  return own === '' || models.includes(own) ? models : [own, ...models];
}

function filtered(totals: readonly Total[], { operation, model, state }: Filters): readonly Total[] {
  return totals.filter(
    (total) =>
      (operation === '' ? served.some((name) => name === total.operation) : total.operation === operation) &&
      (model === '' || total.model === model) &&
      (state === '' || total.state === state),
  );
}

interface SumsProps {
  readonly kind: Kind;
  readonly names: ReadonlyMap<string, string>;
  readonly period: (typeof periods)[number];
  readonly totals: readonly Total[];
}

function Sums({ kind, names, period, totals }: SumsProps) {
  const [measureName, setMeasure] = useQuery('measure');
  const [by, setBy] = useQuery('by');
  const measure = measures.find(({ name }) => name === measureName) ?? measures[0];
  const own = dimensions.filter((dimension) => kind === 'admin' || dimension !== 'account');
  const dimension = own.find((name) => name === by) ?? own[0] ?? 'operation';
  const groups = groupsOf(totals, dimension, measure).map((group) => ({
    ...group,
    name: dimension === 'account' ? (names.get(group.name) ?? group.name) : group.name,
  }));
  return (
    <section class="card" aria-label="Sums">
      <Key totals={totals} />
      <div class="filters">
        <Segments
          label="Measure"
          value={measure.name}
          onChange={(name) => setMeasure(name === measures[0].name ? '' : name)}
          options={measures.map(({ name, label }) => ({ value: name, text: label }))}
        />
        <Choice
          label="Grouped by"
          value={dimension}
          onChange={(name) => setBy(name === own[0] ? '' : name)}
          options={own}
        />
      </div>
      {totals.length === 0 ? (
        <Empty title="No requests in this period.">
          <p>Choose another period or other filters.</p>
        </Empty>
      ) : (
        <>
          <Chart groups={groups} measure={measure} period={period} />
          <TotalsTable groups={groups} dimension={dimension} />
        </>
      )}
    </section>
  );
}

/** The numbers that people look for first. */
function Key({ totals }: { readonly totals: readonly Total[] }) {
  const of = (name: string) => sumOf(totals, measures.find((one) => one.name === name) as Measure);
  const failed = sumOf(
    totals.filter(({ state }) => state === 'failed' || state === 'interrupted'),
    measures[0],
  );
  return (
    <dl class="numbers">
      <div>
        <dt>Requests</dt>
        <dd>
          <Count value={of('requests')} />
        </dd>
      </div>
      <div>
        <dt>Failed</dt>
        <dd class={failed > 0n ? 'bad' : ''}>
          <Count value={failed} />
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          <Count value={of('tokens')} />
        </dd>
      </div>
      <div>
        <dt>Credits</dt>
        <dd>
          <Credits nano={of('credits')} />
        </dd>
      </div>
    </dl>
  );
}
