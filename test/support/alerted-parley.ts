/** A server that checks for alerts every few milliseconds, with a key of its account that manages them. */
import { expect } from 'vitest';
import { type LimitedParley, startLimited } from './limited-parley.ts';
import type { MailServer } from './mail-server.ts';
import { bearer, type ParleyOptions, TestClock } from './parley.ts';

export interface AlertJson {
  readonly id: string;
  readonly type: string;
  readonly percent?: number;
  readonly delivery: {
    readonly state: string;
    readonly attempts: number;
    readonly last_failure?: string;
    readonly next_attempt_at?: string;
  };
}

export interface AlertedParley extends LimitedParley {
  /** Posts below the account of an administrator. */
  administer(path: string, body: object): Promise<Response>;
  /** Posts below `/alerts` with the key of the account. */
  manage(path: string, body: object): Promise<Response>;
  /** The settings with their state. */
  alertState<State>(): Promise<State>;
  alertList(): Promise<readonly AlertJson[]>;
  /** Uses half of a budget, which raises an alert. */
  useHalf(): Promise<void>;
}

/** @param alerts settings */
export async function startAlerted(
  alerts: object,
  options: Pick<ParleyOptions, 'log'> = {},
): Promise<AlertedParley> {
  const clock = new TestClock(Date.UTC(2026, 10, 28, 12));
  const parley = await startLimited({ clock, settings: { alerts }, alerts: { intervalMs: 5 }, ...options });
  parley.engine.completionTokens = 1;
  const administer = (path: string, body: object) =>
    parley.admin(`/accounts/${parley.accountId}/${path}`, body);
  const made = await administer('keys', { name: 'boss', scopes: ['chat', 'manage'] });
  const boss = bearer(((await made.json()) as { secret: string }).secret);
  return {
    ...parley,
    administer,
    manage: (path, body) => parley.postJson(`/alerts/${path}`, body, boss),
    alertState: async <State>() => (await (await parley.call('/alerts/settings', boss)).json()) as State,
    alertList: async () =>
      ((await (await parley.call('/alerts', boss)).json()) as { alerts: AlertJson[] }).alerts,
    useHalf: async () => {
      await parley.setAccountLimits({ budgets: { month: '2' } });
      expect((await (await parley.keyWith({})).chat(1)).status).toBe(200);
    },
  };
}

/** Settings of alerts by mail. */
export function mailBy(mails: MailServer, more: object = {}) {
  return { smtp: { host: '127.0.0.1', port: mails.port, tls: 'none', from: 'parley@example.com', ...more } };
}
