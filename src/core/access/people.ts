/** Admits people whom an identity provider has identified. A person's session acts with a key of its own. */

import { isSuspended } from '../entities/account.ts';
import { auditEntry } from '../entities/audit.ts';
import type { Claims, Person, ProviderLogout } from '../entities/identity-provider.ts';
import { defaultScopes, type Key, scopes } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { hashKey } from '../values/key-secret.ts';
import { newKey } from './new-key.ts';
import { sessionMsMax } from './sessions.ts';

export const roles = ['holder', 'manager', 'readOnlyOperator', 'operator'] as const;
type Role = (typeof roles)[number];

/** Operators act for no account. */
export const isOfAccount = (role: Role): boolean => powers[role].kind === 'account';

const powers: Readonly<Record<Role, Pick<Key, 'kind' | 'scopes'>>> = {
  holder: { kind: 'account', scopes: defaultScopes },
  manager: { kind: 'account', scopes },
  readOnlyOperator: {
    kind: 'admin',
    scopes: ['accounts:read', 'usage:read', 'alerts:read', 'server:read', 'audit:read'],
  },
  operator: { kind: 'admin', scopes: [] },
};

/** Admits the people with a claim. */
export interface PersonRule {
  /** The claim's name. Dots lead into objects, unless a claim has the whole name. */
  readonly claim: string;
  /** The value of the claim, or one of its values. */
  readonly value: string;
  readonly role: Role;
  /** The id or name of the account; undefined for operators. */
  readonly account?: string | undefined;
}

interface PeopleDeps {
  readonly store: Pick<Store, 'keys' | 'accounts' | 'sessions'>;
  readonly accessClock: Clock;
}

interface Admitted {
  readonly key: Key;
  readonly secret: string;
  readonly rule: string;
}

const idCharactersMax = 255;
const nameCharactersMax = 200;

export class People {
  readonly #deps: PeopleDeps;
  readonly #rules: readonly PersonRule[];

  /** @param rules the first that fits a person counts */
  constructor(deps: PeopleDeps, rules: readonly PersonRule[]) {
    this.#deps = deps;
    this.#rules = rules;
  }

  /**
   * Makes the key of a person's new session.
   * @param claims of a verified ID token
   * @param attempt an id of the sign-in, which admits once
   * @throws `insufficient_scope` for a person without a rule or with an account that is not served
   */
  async admit(claims: Claims, attempt: string, kinds: readonly Key['kind'][]): Promise<Admitted> {
    const { store, accessClock } = this.#deps;
    const { name, ...person } = personOf(claims);
    const rule = this.#rules.find((one) => fits(one, claims));
    if (rule === undefined) throw refused(`No rule admits ${person.label}.`);
    const power = powers[rule.role];
    if (!kinds.includes(power.kind)) throw refused(`This port does not serve the role of ${person.label}.`);
    const accountId = await this.#accountOf(rule);
    const nowMs = accessClock.now();
    await this.#useOnce(attempt, nowMs);
    const facts = { ...power, accountId, name, limits: undefined, expiresAtMs: nowMs + sessionMsMax };
    const { key, secret } = newKey(nowMs, { ...facts, person });
    const details = { role: rule.role, account: accountId ?? '' };
    const change = { action: 'session.begin', target: key.id, details };
    await store.keys.create(key, auditEntry(nowMs, { actor: person.label }, change));
    return { key, secret, rule: ruleId(rule) };
  }

  /** Ends sessions on every server. */
  async endSessions(logout: ProviderLogout): Promise<void> {
    const nowMs = this.#deps.accessClock.now();
    const change = { action: 'session.end', target: logout.id, details: {} };
    await this.#deps.store.keys.endSessions(logout, nowMs, auditEntry(nowMs, { actor: 'oidc' }, change));
  }

  async #accountOf({ account: name }: PersonRule): Promise<Key['accountId']> {
    if (name === undefined) return undefined;
    const account = await this.#deps.store.accounts.find(name);
    if (account !== undefined && !isSuspended(account)) return account.id;
    throw refused(`The account ${name} of the rule does not exist or is suspended.`);
  }

  async #useOnce(attempt: string, nowMs: number): Promise<void> {
    const { sessions } = this.#deps.store;
    const used = { owner: hashKey(attempt), session: 'sign-in' };
    if (await sessions.isEnded(used)) throw refused('The sign-in was used before.');
    await sessions.end({ ...used, untilMs: nowMs + sessionMsMax }, nowMs);
  }
}

/** Sessions remember the rule that admitted their person. */
export function ruleId({ claim, value, role, account }: PersonRule): string {
  return hashKey(JSON.stringify([claim, value, role, account]));
}

function fits({ claim, value }: PersonRule, claims: Claims): boolean {
  // Anyone may enter any address at some providers.
  if (claim === 'email' && claims['email_verified'] !== true) return false;
  const found = Object.hasOwn(claims, claim) ? claims[claim] : claim.split('.').reduce(memberOf, claims);
  return Array.isArray(found) ? found.includes(value) : found === value;
}

function memberOf(value: unknown, name: string): unknown {
  const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isOwn ? Reflect.get(value, name) : undefined;
}

function personOf(claims: Claims): Person & { readonly name: string } {
  const { iss, sub, sid, email, preferred_username: username } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub === '' || sub.length > idCharactersMax) {
    throw refused('The provider does not identify the person.');
  }
  const given = [email, username].find((one) => typeof one === 'string' && one !== '') ?? sub;
  const name = String(given).replace(/\p{C}/gu, '').slice(0, nameCharactersMax);
  const session = typeof sid === 'string' && sid.length <= idCharactersMax ? providerId(iss, sid) : '';
  return { name, label: `${name} (${sub})`, subject: providerId(iss, sub), session };
}

/** Ids are unique at one issuer only. */
export function providerId(issuer: string, id: string): string {
  return `${issuer} ${id}`;
}

function refused(message: string): ParleyError {
  return new ParleyError('insufficient_scope', { message });
}
