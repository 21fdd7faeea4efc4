/** Single requests, newest first, a page at a time, with a search by request id. */

import { timestampFromDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { failureOf } from '../api.ts';
import { placesOf } from '../credits.ts';
import { Credits, durationText, secondsText, Time, wholeText } from '../format.tsx';
import { Paged } from '../paged.tsx';
import { useQuery } from '../router.ts';
import type { SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { type NamesById, useNamesOf } from './names.ts';
import type { Period } from './periods.ts';
import { RecordDialog } from './record-dialog.tsx';
import { State } from './record-state.tsx';
import { saveRecords } from './save-records.ts';
import { type Kind, type RecordFilter, readRecords } from './source.ts';

interface Props {
  readonly session: SignedIn;
  /** Known names of keys. */
  readonly keys: NamesById;
  readonly period: Period;
  readonly filter: Pick<
    RecordFilter,
    'operation' | 'model' | 'state' | 'code' | 'engine' | 'status' | 'accountId' | 'keyId'
  >;
}

const size = 50;
export const unfiltered = {
  operation: '',
  model: '',
  state: '',
  code: '',
  engine: '',
  status: '',
  accountId: '',
  keyId: '',
};
const pageMsMax = 60_000;

export function RecordList({ session, keys, period: { from, until }, filter: chosen }: Props) {
  const { kind } = session;
  const [id, setId] = useQuery('id');
  // An id names one request, whatever else is chosen.
  const filter =
    id === ''
      ? { ...chosen, startTime: timestampFromDate(from), endTime: timestampFromDate(until) }
      : unfiltered;
  const key = JSON.stringify([chosen, from, until, id]);
  const first = useLoaded(key, (signal) => readRecords(kind, { ...filter, id }, { size }, signal));
  return (
    <section class="card" aria-label="Requests">
      <div class="title">
        <h2>Requests</h2>
        <search>
          <IdField id={id} onChange={setId} />
        </search>
        <Export kind={kind} filter={{ ...filter, id }} />
      </div>
      <Show of={first} what="the requests">
        {(page) => (
          <Paged
            first={page}
            readMore={(token) =>
              readRecords(kind, { ...filter, id }, { size, token }, AbortSignal.timeout(pageMsMax))
            }
          >
            {(records, isAll) => (
              <Found session={session} keys={keys} records={records} isAll={isAll} isById={id !== ''} />
            )}
          </Paged>
        )}
      </Show>
    </section>
  );
}

/** Keeps what is typed while the list is loading. */
function IdField({ id, onChange }: { readonly id: string; readonly onChange: (id: string) => void }) {
  const [text, setText] = useState(id);
  useEffect(() => setText(id), [id]);
  return (
    <>
      <label class="unseen" for="request-id">
        Request id
      </label>
      <input
        id="request-id"
        type="search"
        placeholder="Find by request id"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={() => onChange(text.trim())}
      />
    </>
  );
}

interface FoundProps extends Pick<Props, 'session' | 'keys'> {
  readonly records: readonly UsageRecord[];
  readonly isAll: boolean;
  readonly isById: boolean;
}

function Found({ session, keys, records, isAll, isById }: FoundProps) {
  const [shown, setShown] = useState<UsageRecord>();
  const ids = records.flatMap(({ accountId, keyId }) => [accountId, keyId]);
  const names = useNamesOf(session, ids, keys);
  if (records.length === 0) {
    return (
      <Empty title="No requests found.">
        <p>
          {isById
            ? 'Check the id: answers have it in the header x-request-id. A request without a valid key has no record, and old records may have been removed.'
            : 'Choose other filters.'}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <DataTable
        id="requests"
        label="Requests as a table"
        columns={columnsOf(
          session,
          names,
          placesOf(records.map(({ costNanoCredits = 0n }) => costNanoCredits)),
          setShown,
        )}
        rows={records}
        keyOf={(record) => record.id}
        isPart={!isAll}
        contents={names.size}
      />
      {shown !== undefined && (
        <RecordDialog record={shown} names={names} onClose={() => setShown(undefined)} />
      )}
    </>
  );
}

function columnsOf(
  { kind }: SignedIn,
  names: NamesById,
  places: number,
  onOpen: (record: UsageRecord) => void,
): readonly DataColumn<UsageRecord>[] {
  const account: DataColumn<UsageRecord> = {
    title: 'Account',
    rank: 2,
    isSecond: true,
    order: ({ accountId }) => names.get(accountId) ?? accountId,
    cell: ({ accountId }) => <Name text={names.get(accountId) ?? accountId} />,
  };
  return [
    {
      title: 'Time',
      order: ({ startedAt }) => startedAt && timestampMs(startedAt),
      cell: (record) => (
        <button type="button" class="link" onClick={() => onOpen(record)}>
          <Time at={record.startedAt} />
        </button>
      ),
    },
    ...(kind === 'admin' ? [account] : []),
    {
      title: 'Key',
      rank: 8,
      isSecond: kind === 'account',
      order: ({ keyId }) => names.get(keyId) ?? keyId,
      cell: ({ keyId }) => <Name text={names.get(keyId) ?? keyId} />,
    },
    { title: 'Operation', rank: 5, order: ({ operation }) => operation, cell: ({ operation }) => operation },
    {
      title: 'Model',
      rank: 3,
      isSecond: true,
      order: ({ model }) => model,
      cell: ({ model = '–' }) => <Name text={model} />,
    },
    {
      title: 'State',
      order: ({ state, code = '' }) => `${state} ${code}`,
      cell: (record) => <State record={record} />,
    },
    {
      title: 'Engine',
      rank: 10,
      order: ({ engine }) => engine,
      cell: ({ engine = '–' }) => <Name text={engine} />,
    },
    {
      title: 'First output',
      form: 'right',
      rank: 9,
      order: ({ firstOutputMs }) => firstOutputMs,
      cell: ({ firstOutputMs }) => (firstOutputMs === undefined ? '–' : durationText(firstOutputMs)),
    },
    {
      title: 'Took',
      form: 'right',
      rank: 6,
      order: ({ durationMs }) => durationMs,
      cell: ({ durationMs }) => (durationMs === undefined ? '–' : durationText(durationMs)),
    },
    { title: 'Amount', form: 'right', rank: 7, cell: amountText },
    {
      title: 'Credits',
      form: 'right',
      rank: 4,
      isSecond: true,
      order: ({ costNanoCredits }) => costNanoCredits,
      cell: ({ costNanoCredits }) =>
        costNanoCredits === undefined ? '–' : <Credits nano={costNanoCredits} places={places} />,
    },
  ];
}

/** Cut where it is too long for a table. */
function Name({ text }: { readonly text: string }) {
  return (
    <span class="name" title={text}>
      {text}
    </span>
  );
}

/** The size of the request, in the unit of its operation. */
function amountText({ characters, audioSecondsIn, promptTokens, completionTokens }: UsageRecord): string {
  if (characters !== undefined) return `${wholeText(characters)} characters`;
  if (audioSecondsIn !== undefined) return secondsText(audioSecondsIn);
  if (promptTokens === undefined) return '–';
  return `${wholeText(promptTokens)} + ${wholeText(completionTokens ?? 0)} tokens`;
}

/** Saves all records that the filter selects, unless stopped. */
function Export({ kind, filter }: { readonly kind: Kind; readonly filter: RecordFilter }) {
  const [count, setCount] = useState<number>();
  const [problem, setProblem] = useState<string>();
  const abort = useRef<AbortController>(undefined);
  const start = async () => {
    abort.current = new AbortController();
    setCount(0);
    setProblem(undefined);
    try {
      await saveRecords(kind, filter, setCount, abort.current.signal);
    } catch (error) {
      if (!abort.current.signal.aborted) setProblem(failureOf(error).message);
    }
    setCount(undefined);
  };
  return (
    <>
      <button type="button" onClick={() => (count === undefined ? void start() : abort.current?.abort())}>
        {count === undefined ? 'Save as CSV' : `${wholeText(count)} read. Stop`}
      </button>
      {problem !== undefined && <span role="alert">{problem}</span>}
    </>
  );
}
