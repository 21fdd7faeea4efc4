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

export interface NodeSlice extends Slice {
  readonly calls: number;
}

const [, , kind = '', url = ''] = process.argv;
const path = await (kind === 'groups' ? postgresPath(url) : kyselyPostgresPath(url));

async function answer({ accounts, from, warmUpCalls, ...load }: NodeLoad): Promise<NodeSlice | object> {
  let calls = 0;
  const call = (n: number) => {
    calls++;
    return path.request(keyHashOf((from + n) % accounts));
  };
  if (warmUpCalls === undefined) return { ...(await drive(process, call, load)), calls };
  await send(call, { atOnce: load.atOnce, calls: warmUpCalls });
  return {};
}

serveParent({ origin: url, key: 'none' }, () => path.close(), answer);
