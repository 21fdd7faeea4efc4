/** Single requests, newest first, a page at a time, with a search by request id. */

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { useRef, useState } from 'preact/hooks';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { failureOf } from '../api.ts';
import { Credits, durationText, secondsText, Time, wholeText } from '../format.tsx';
import { Paged } from '../paged.tsx';
import { useQuery } from '../router.ts';
import { Scroll } from '../scroll.tsx';
import { Empty, Show, useLoaded } from '../states.tsx';
import { TableHead } from '../table-head.tsx';
import { type Names, useAccountNames } from './names.ts';
import type { Period } from './periods.ts';
import { RecordDialog } from './record-dialog.tsx';
import { State } from './record-state.tsx';
import { saveRecords } from './save-records.ts';
import { type Kind, type RecordFilter, readRecords } from './source.ts';

interface Props {
  readonly kind: Kind;
  readonly names: Names;
  readonly period: Period;
  readonly filter: Pick<RecordFilter, 'operation' | 'model' | 'state' | 'accountId' | 'keyId'>;
}

const size = 50;
const pageMsMax = 60_000;

export function RecordList({ kind, names, period, filter: chosen }: Props) {
  const [id, setId] = useQuery('id');
  const filter = { ...chosen, startTime: timestampFromDate(period.from()) };
  const key = JSON.stringify([chosen, period.name, id]);
  const first = useLoaded(key, (signal) => readRecords(kind, { ...filter, id }, { size }, signal));
  return (
    <section class="card" aria-label="Requests">
      <div class="title">
        <h2>Requests</h2>
        <search>
          <label class="unseen" for="request-id">
            Request id
          </label>
          <input
            id="request-id"
            type="search"
            placeholder="Find by request id"
            spellcheck={false}
            autocomplete="off"
            value={id}
            onChange={({ currentTarget }) => setId(currentTarget.value.trim())}
          />
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
            {(records) => <Found kind={kind} names={names} records={records} isById={id !== ''} />}
          </Paged>
        )}
      </Show>
    </section>
  );
}

interface FoundProps extends Omit<Props, 'filter' | 'period'> {
  readonly records: readonly UsageRecord[];
  readonly isById: boolean;
}

function Found({ kind, names, records, isById }: FoundProps) {
  const [shown, setShown] = useState<UsageRecord>();
  const accounts = useAccountNames(
    names.accounts,
    kind === 'admin' ? records.map(({ accountId }) => accountId) : [],
  );
  if (records.length === 0) {
    return (
      <Empty title="No requests found.">
        <p>
          {isById ? 'Check the id: answers have it in the header x-request-id.' : 'Choose other filters.'}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <RecordTable records={records} names={kind === 'admin' ? accounts : undefined} onOpen={setShown} />
      {shown !== undefined && (
        <RecordDialog record={shown} names={names} onClose={() => setShown(undefined)} />
      )}
    </>
  );
}

interface TableProps {
  readonly records: readonly UsageRecord[];
  readonly names: ReadonlyMap<string, string> | undefined;
  readonly onOpen: (record: UsageRecord) => void;
}

function RecordTable({ records, names, onOpen }: TableProps) {
  return (
    <Scroll label="Requests as a table">
      <table class="rows">
        <TableHead
          columns={[
            'Time',
            ...(names === undefined ? [] : ['Account']),
            'Operation',
            'Model',
            'State',
            ['Took', 'right'],
            ['Amount', 'right'],
            ['Credits', 'right'],
          ]}
        />
        <tbody>
          {records.map((record) => (
            <tr key={record.id}>
              <td>
                <button type="button" class="link" onClick={() => onOpen(record)}>
                  <Time at={record.startedAt} />
                </button>
              </td>
              {names !== undefined && <td>{names.get(record.accountId) ?? record.accountId}</td>}
              <td>{record.operation}</td>
              <td>{record.model ?? '–'}</td>
              <td>
                <State record={record} />
              </td>
              <td class="right">{record.durationMs === undefined ? '–' : durationText(record.durationMs)}</td>
              <td class="right">{amountText(record)}</td>
              <td class="right">
                {record.costNanoCredits === undefined ? '–' : <Credits nano={record.costNanoCredits} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
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
