import { ownAlerts } from '../alerts/alert-owner.ts';
import { Alerts } from '../alerts/alerts.tsx';
import type { SignedIn } from '../session.ts';

export function AlertsPage({ session }: { readonly session: SignedIn }) {
  return (
    <>
      <h1>Alerts</h1>
      {session.key.scopes.includes('manage') ? (
        <Alerts owner={ownAlerts} session={session} />
      ) : (
        <section class="card">
          <p>
            Alerts warn by webhook, mail, Slack or Matrix when a budget or fair use is nearly used up, when
            few credits are left, and when a plan ends. To set and see them, sign in with a key that has the
            scope <code>manage</code>. The operator of this server creates the first one.
          </p>
        </section>
      )}
    </>
  );
}
