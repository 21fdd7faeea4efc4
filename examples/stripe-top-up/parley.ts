/** The calls of Parley: whose key it is, and entries of the ledger. */
import type { Settings } from './settings.ts';

/** A load, or an adjustment that takes credits back. */
export interface Entry {
  readonly kind: 'credits' | 'adjustments';
  /** The account's id or name. */
  readonly account: string;
  /** An exact decimal with at most nine places; negative to take credits back. */
  readonly amount: string;
  readonly reason: string;
  /** The id of the payment or of the refund. Parley enters it once, however often it is sent. */
  readonly once: string;
}

const timeoutMs = 20_000;

/** The id of the account that an API key belongs to; undefined if Parley refuses the key. */
export async function accountOf({ parleyUrl }: Settings, authorization: string): Promise<string | undefined> {
  const answer = await fetch(`${parleyUrl}/api/v1/account`, {
    headers: { authorization },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (answer.status === 401 || answer.status === 403) return undefined;
  const { id } = (await checked(answer)) as { id: string };
  return id;
}

/** Resolves once the entry is in the ledger, now or from an earlier attempt. @throws Error, also if the account has too few credits */
export async function enter({ parleyAdminUrl, parleyKey }: Settings, entry: Entry): Promise<void> {
  const { kind, account, amount, reason, once } = entry;
  const path = `/api/v1/admin/accounts/${encodeURIComponent(account)}/${kind}`;
  const answer = await fetch(`${parleyAdminUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parleyKey}` },
    body: JSON.stringify({ amount, reason, idempotency_key: once }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  await checked(answer);
}

async function checked(answer: Response): Promise<unknown> {
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Parley answered ${answer.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}
