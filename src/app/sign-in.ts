import type { Config } from '../config/config.ts';
import { People, ruleId } from '../core/access/people.ts';
import type { Store } from '../core/entities/store.ts';
import type { Clock } from '../core/values/clock.ts';
import type { Log } from '../core/values/log.ts';
import type { SignIn } from '../transports/rest/sign-in-routes.ts';

interface SignInDeps {
  readonly store: Store;
  readonly accessClock: Clock;
  readonly log: Log;
}

/** Loads the library only if a provider is configured. Sign-in to a console that is turned off is turned off, too. */
export async function openSignIn(
  { oidc, oidcSecret, console }: Config,
  deps: SignInDeps,
): Promise<SignIn | undefined> {
  if (oidc === undefined || console.access === 'off') return undefined;
  const { OidcProvider } = await import('../identity/oidc-provider.ts');
  const { name, issuer, clientId, scopes, consoleUrls: origins, rules } = oidc;
  const provider = new OidcProvider({ issuer, clientId, scopes, clientSecret: oidcSecret?.reveal() });
  return { name, provider, people: new People(deps, rules), origins, log: deps.log };
}

/** Identify the rules in sessions. */
export function ruleIds({ oidc }: Config): ReadonlySet<string> {
  return new Set(oidc?.rules.map(ruleId));
}
