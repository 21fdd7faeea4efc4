/** The checks before a request: the gate, and for the console sessions and sign-in. */
import type { Config } from '../config/config.ts';
import { givenAdminHolder, KnownHeaders } from '../core/access/auth.ts';
import { FailedKeys } from '../core/access/failed-keys.ts';
import { Gate } from '../core/access/gate.ts';
import { People, ruleId } from '../core/access/people.ts';
import { Sessions } from '../core/access/sessions.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import { Rates } from '../core/entities/rates.ts';
import type { RequestObserver } from '../core/entities/usage.ts';
import type { SignIn } from '../transports/rest/sign-in-routes.ts';
import type { Base } from './base.ts';

export interface Access {
  readonly gate: Gate;
  /** Undefined for no console. */
  readonly sessions: Sessions | undefined;
  /** Undefined for no identity provider. */
  readonly signIn: SignIn | undefined;
}

export async function openAccess(
  config: Config,
  base: Base,
  { catalog, observer }: { readonly catalog: Catalog; readonly observer: RequestObserver },
): Promise<Access> {
  const { store, clock, accessClock, log, unsettled } = base;
  const { adminKey, console, limits, oidc, retention } = config;
  const givenAdmin = adminKey && givenAdminHolder(adminKey.reveal());
  const failedKeys = new FailedKeys(limits.failedKeysPerMinuteMax);
  const isModel = (id: string) => catalog.find(id) !== undefined;
  const keepsLabels = retention.endUsers;
  const { endUsersMax } = limits;
  const own = {
    keepsLabels,
    endUsersMax,
    givenAdmin,
    knownHeaders: new KnownHeaders(),
    rates: new Rates(),
    failedKeys,
  };
  const rules = new Set(oidc?.rules.map(ruleId));
  return {
    signIn: await openSignIn(config, base),
    gate: new Gate({ store, clock, accessClock, log, unsettled, observer, isModel, ...own }),
    sessions: console.access === 'off' ? undefined : new Sessions({ store, accessClock, givenAdmin, rules }),
  };
}

/** Loads the library only if a provider is configured. Sign-in to a console that is turned off is turned off, too. */
async function openSignIn(
  { oidc, oidcSecret, console }: Config,
  { store, accessClock, log }: Base,
): Promise<SignIn | undefined> {
  if (oidc === undefined || console.access === 'off') return undefined;
  const { OidcProvider } = await import('../identity/oidc-provider.ts');
  const { name, issuer, clientId, scopes, consoleUrls: origins, rules } = oidc;
  const provider = new OidcProvider({ issuer, clientId, scopes, clientSecret: oidcSecret?.reveal() });
  return { name, provider, people: new People({ store, accessClock }, rules), origins, log };
}
