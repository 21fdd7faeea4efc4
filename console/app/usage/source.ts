/** Reads the usage of this session's account or, for an operator, of all accounts. */
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UsageRecord, UsageTotal } from '../../../gen/parley/account/v1/account_pb.ts';
import { account, admin } from '../api.ts';
import { dayMs } from '../format.tsx';
import type { PageOf } from '../paged.tsx';
import type { SignedIn } from '../session.ts';

/** The operations that work for a client. Others are look-ups, such as those of this console. */
export const served = ['chat', 'speech', 'transcription'] as const;

export type Total = Omit<UsageTotal, '$typeName'>;

export interface RecordFilter {
  readonly startTime?: Timestamp;
  readonly endTime?: Timestamp;
  /** Empty: all operations above. */
  readonly operation: string;
  readonly model: string;
  readonly state: string;
  /** Empty: all, also of the two that follow. */
  readonly code: string;
  readonly engine: string;
  readonly status: string;
  /** Empty: all accounts; ignored for holders. */
  readonly accountId: string;
  /** Empty: all keys. */
  readonly keyId: string;
  readonly id: string;
}

export type Kind = SignedIn['kind'];

/** Midnight in UTC, this many days before today. */
export function daysAgo(days: number, nowMs = Date.now()): Date {
  return new Date(Math.floor(nowMs / dayMs) * dayMs - days * dayMs);
}

interface TotalsRequest {
  readonly from: Date;
  /** Default: no end. */
  readonly until?: Date;
  readonly groupBy: string[];
  /** Empty: all. */
  readonly accountId?: string;
  /** Empty: all. */
  readonly keyId?: string;
  /** Only the largest accounts or keys apart. Default: each. */
  readonly top?: { readonly top: number; readonly topBy: string };
}

function clientOf(kind: Kind) {
  return kind === 'account' ? account : admin;
}

function accountOf(kind: Kind, accountId: string) {
  return kind === 'admin' && accountId !== '' ? { accountId } : {};
}

export async function readTotals(
  kind: Kind,
  request: TotalsRequest,
  signal: AbortSignal,
): Promise<readonly Total[]> {
  const { from, until, groupBy, accountId = '', keyId = '', top } = request;
  const times = { startTime: timestampFromDate(from), ...(until && { endTime: timestampFromDate(until) }) };
  const sent = { ...times, groupBy, ...(keyId !== '' && { keyId }), ...top };
  return (await clientOf(kind).getUsageTotals({ ...sent, ...accountOf(kind, accountId) }, { signal })).totals;
}

/**
 * The newest records, a page at a time. The API lists one operation or all, so each operation has its own list. A page
 * token is the id of the last record, and fits every list.
 */
export async function readRecords(
  kind: Kind,
  { operation, model, state, code, engine, status, accountId, keyId, id, ...times }: RecordFilter,
  page: { readonly size: number; readonly token?: string | undefined },
  signal: AbortSignal,
): Promise<PageOf<UsageRecord>> {
  const request = {
    // A search by id covers all times.
    ...(id === '' && times),
    ...(model !== '' && { model }),
    ...(state !== '' && { state }),
    ...(code !== '' && { code }),
    ...(engine !== '' && { engine }),
    ...(/^\d{3}$/.test(status) && { httpStatus: Number(status) }),
    ...(keyId !== '' && { keyId }),
    ...(id !== '' && { id }),
    ...(page.token !== undefined && { pageToken: page.token }),
    pageSize: page.size,
    ...accountOf(kind, accountId),
  };
  const list = (wanted: object) => clientOf(kind).listUsageRecords({ ...request, ...wanted }, { signal });
  // The server refuses texts that cannot be an id.
  if (id !== '' && !/^req_[0-9a-f]{32}$/.test(id)) return { items: [], next: undefined };
  if (id !== '') return { items: (await list({})).records, next: undefined };
  const operations = operation === '' ? served : [operation];
  const lists = await Promise.all(operations.map((name) => list({ operation: name })));
  const all = lists.flatMap(({ records }) => records).sort((one, other) => (one.id < other.id ? 1 : -1));
  const items = all.slice(0, page.size);
  const isMore = all.length > items.length || lists.some(({ nextPageToken }) => nextPageToken !== undefined);
  return { items, next: isMore ? items.at(-1)?.id : undefined };
}
