import { timestampDate } from '@bufbuild/protobuf/wkt';
import { useState } from 'preact/hooks';
import type {
  EngineRequests,
  EngineState,
  GetServerStateResponse,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, failureOf } from '../../api.ts';
import { durationText, spanText, Time, wholeText } from '../../format.tsx';
import { type DataColumn, DataTable } from '../../table/data-table.tsx';
import { healthOf } from '../engine-words.ts';

interface EnginesProps {
  readonly state: GetServerStateResponse;
  readonly isReadOnly: boolean;
  /** Called when a program was started or ended by hand. */
  readonly onChanged: () => void;
}

const facts: readonly DataColumn<EngineState>[] = [
  { title: 'Name', form: 'row', order: ({ name }) => name, cell: ({ name }) => name },
  { title: 'Kind', rank: 9, order: ({ kind }) => kind, cell: ({ kind }) => kind },
  {
    title: 'Health',
    order: (engine) => healthOf(engine).words,
    cell: (engine) => {
      const { words, badge } = healthOf(engine);
      return <span class={`badge ${badge}`}>{words}</span>;
    },
  },
  { title: 'Last failure', rank: 5, isSecond: true, cell: (engine) => <LastFailure of={engine} /> },
  {
    title: 'Requests',
    form: 'right',
    rank: 4,
    cell: ({ requests }) => countText(requests?.running, undefined),
  },
  { title: 'First output', form: 'right', rank: 3, cell: ({ requests }) => firstOutputText(requests) },
  { title: 'Failed', form: 'right', rank: 2, cell: ({ requests }) => failedText(requests) },
  {
    title: 'Running calls',
    form: 'right',
    rank: 5,
    cell: ({ running, runningMax }) => countText(running, runningMax),
  },
  {
    title: 'Waiting calls',
    form: 'right',
    rank: 6,
    cell: ({ waiting, waitingMax }) => countText(waiting, waitingMax),
  },
  { title: 'Files', form: 'right', rank: 9, cell: ({ fileBytes }) => sizeText(fileBytes) },
  { title: 'Memory', form: 'right', rank: 7, cell: ({ program }) => sizeText(program?.memoryBytes) },
  {
    title: 'Last use',
    rank: 10,
    cell: ({ program }) => (program?.lastUsedAt ? <Time at={program.lastUsedAt} /> : '–'),
  },
];

export function Engines({ state: { engines }, isReadOnly, onChanged }: EnginesProps) {
  const [problem, setProblem] = useState<string>();
  const switchProgram = async (name: string, isRunning: boolean) => {
    setProblem(undefined);
    try {
      await (isRunning ? admin.unloadEngine({ name }) : admin.loadEngine({ name }));
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    onChanged();
  };
  const columns: readonly DataColumn<EngineState>[] = [
    ...facts,
    {
      title: 'Program',
      cell: (engine) => (isReadOnly ? '–' : <ProgramButton of={engine} onClick={switchProgram} />),
    },
  ];
  return (
    <section class="card">
      <h2>Engines</h2>
      <DataTable
        id="engines"
        label="Engines"
        columns={columns}
        rows={engines}
        keyOf={({ name }) => name}
        contents={isReadOnly}
      />
      <p class="quiet">
        First output and failures are those of the last 5 minutes, at most of the last 512 requests: the
        median time to the first part of the answer, and the time that 95 of 100 requests do not exceed.
      </p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function firstOutputText(of: EngineRequests | undefined): string {
  const { firstOutputMsMedian: median, firstOutputMsP95: p95 } = of ?? {};
  if (median === undefined || p95 === undefined) return '–';
  return `${durationText(median)}, 95 %: ${durationText(p95)}`;
}

function failedText(of: EngineRequests | undefined): string {
  return of === undefined || of.ended === 0 ? '–' : countText(of.failed, of.ended);
}

interface ProgramButtonProps {
  readonly of: EngineState;
  readonly onClick: (name: string, isRunning: boolean) => Promise<void>;
}

function ProgramButton({ of: { name, program }, onClick }: ProgramButtonProps) {
  if (program === undefined) return '–';
  const isRunning = runningStates.has(program.state);
  return (
    <button type="button" onClick={() => void onClick(name, isRunning)}>
      {isRunning ? 'Unload' : 'Load'}
    </button>
  );
}

const runningStates: ReadonlySet<string> = new Set(['waiting', 'loading', 'ready', 'busy']);

/** The last failed request, as a link to it and those before, or how the program ended. */
function LastFailure({ of: { name, program, requests } }: { readonly of: EngineState }) {
  const { at, code, reason } = requests?.lastFailure ?? {};
  if (at === undefined) return program?.failure ?? '–';
  return (
    <a href={`/console/usage?engine=${name}&state=failed`} title={reason}>
      {code}, {spanText(timestampDate(at))}
    </a>
  );
}

function sizeText(bytes = 0n): string {
  return bytes === 0n ? '–' : `${wholeText(Math.round(Number(bytes) / 1024 ** 2))} MiB`;
}

function countText(count: number | undefined, max: number | undefined): string {
  if (count === undefined) return '–';
  return max === undefined ? wholeText(count) : `${wholeText(count)} of ${wholeText(max)}`;
}
