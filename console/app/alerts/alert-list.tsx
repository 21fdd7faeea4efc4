import type { Alert } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { Time } from '../format.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { Scroll } from '../scroll.tsx';
import type { SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { TableHead } from '../table-head.tsx';
import { useKeyNames } from '../usage/names.ts';
import type { AlertOwner } from './alert-owner.ts';
import { alertText, deliveryText } from './alert-words.ts';

interface Props {
  readonly owner: AlertOwner;
  readonly session: SignedIn;
  /** Reloads when this value changes. */
  readonly turn: number;
  /** Whether no alerts are raised, which is said above the list. */
  readonly isOff: boolean;
}

const pageSize = 50;
const pageMsMax = 60_000;

export function AlertList({ owner, session, turn, isOff }: Props) {
  const readPage = async (signal: AbortSignal, pageToken?: string): Promise<PageOf<Alert>> => {
    const page = { pageSize, ...(pageToken !== undefined && { pageToken }) };
    const { alerts, nextPageToken } = await owner.list(page, signal);
    return { items: alerts, next: nextPageToken };
  };
  const first = useLoaded(`alerts ${owner.accountId} ${turn}`, (signal) => readPage(signal));
  const keys = useKeyNames(session, owner.accountId, turn);
  return (
    <Show of={first} what="the alerts">
      {(page) => (
        <Paged first={page} readMore={(token) => readPage(AbortSignal.timeout(pageMsMax), token)}>
          {(alerts) => (isOff && alerts.length === 0 ? null : <AlertTable alerts={alerts} keys={keys} />)}
        </Paged>
      )}
    </Show>
  );
}

const badges: Readonly<Record<string, string>> = { delivered: 'ok', pending: 'refused', failed: 'failed' };

interface TableProps {
  readonly alerts: readonly Alert[];
  readonly keys: ReadonlyMap<string, string>;
}

function AlertTable({ alerts, keys }: TableProps) {
  if (alerts.length === 0) return <Empty title="No alerts yet." />;
  return (
    <Scroll label="Alerts">
      <table class="rows">
        <TableHead columns={['Time', 'Alert', 'Delivery', ['Details', 'unseen']]} />
        <tbody>
          {alerts.map((alert) => (
            <tr key={alert.id}>
              <td>
                <Time at={alert.createdAt} />
              </td>
              <td class="wrap">{alertText(alert, keys)}</td>
              {alert.delivery && (
                <>
                  <td>
                    <span class={`badge ${badges[alert.delivery.state] ?? ''}`}>{alert.delivery.state}</span>
                  </td>
                  <td class="wrap quiet">{deliveryText(alert.delivery)}</td>
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
