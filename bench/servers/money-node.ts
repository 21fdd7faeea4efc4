/**
 * A node of the money path on PostgreSQL, which sends requests to itself when its parent asks.
 *
 *   node bench/servers/money-node.ts PATH URL
 *
 * PATH is `groups`, Parley's own, or `kysely`.
 */
import { drive, type Load, type Slice, send } from '../harness/drive.ts';
import { kyselyPostgresPath } from '../money/kysely-path.ts';
import { keyHashOf } from '../money/postgres-accounts.ts';
import { postgresPath } from '../money/request.ts';
import { serveParent } from './parent.ts';

export interface NodeLoad extends Load {
  /** Number of accounts that are used in turn. */
  readonly accounts: number;
  /** The first of them. */
  readonly from: number;
  /** Requests that are sent and not measured, instead of the load. */
  readonly warmUpCalls?: number;
}

const [, , kind = '', url = ''] = process.argv;
const path = await (kind === 'groups' ? postgresPath(url) : kyselyPostgresPath(url));

async function answer({ accounts, from, warmUpCalls, ...load }: NodeLoad): Promise<Slice | object> {
  const call = (n: number) => path.request(keyHashOf((from + n) % accounts));
  if (warmUpCalls === undefined) return drive(process, call, load);
  await send(call, { atOnce: load.atOnce, calls: warmUpCalls });
  return {};
}

serveParent({ origin: url, key: 'none' }, () => path.close(), answer);
