import type { AccountOfCallDeps } from '../access/account-of-call.ts';
import type { FairUseRules } from '../billing/fair-use.ts';
import type { MailSender } from '../entities/mail.ts';
import type { ServerFacts } from '../entities/server.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';

export interface AccountsDeps extends AccountOfCallDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly accessClock: Clock;
  readonly fairUse: FairUseRules;
  readonly keysPerAccountMax: number;
  /** Mails invitations. Undefined without a mail server. */
  readonly mail: MailSender | undefined;
  /** Undefined in a command on the data folder, which runs no server. */
  readonly server: ServerFacts | undefined;
}
