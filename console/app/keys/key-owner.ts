/** Lists and changes keys, for a key of their account or an operator. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { admin, management } from '../api.ts';
import { allKeys } from './all-keys.ts';

type WantedLimits = MessageInitShape<typeof LimitsSchema>;

export interface NewKey {
  readonly name: string;
  readonly scopes: string[];
  readonly expiresAt?: Timestamp;
  readonly limits?: WantedLimits;
}

export interface IssuedKey {
  readonly key?: Key | undefined;
  readonly secret: string;
}

interface Invitation extends NewKey {
  /** The origin of the console that the link opens. */
  readonly consoleUrl: string;
  readonly mailAddress?: string;
}

/** An invitation of a person, who makes their own key by it. */
export interface Invited {
  /** The link. */
  readonly url: string;
  readonly mailFailure?: string | undefined;
  /** Where it was mailed to, unless that failed. */
  readonly mailAddress?: string | undefined;
}

/** What a person does with keys at the moment. */
export type KeyStep =
  | { readonly what: 'make' | 'invite' }
  | { readonly what: 'invited'; readonly invited: Invited }
  | { readonly what: 'facts' | 'limits' | 'rotate' | 'revoke'; readonly key: Key }
  | { readonly what: 'made'; readonly issued: IssuedKey };

export interface KeyOwner {
  /** Empty for the account of this session, and for admin keys. */
  readonly accountId: string;
  readonly list: (signal: AbortSignal) => Promise<readonly Key[]>;
  /** Scopes that a new key can have. An admin key may also have none: it has all rights of the key that creates it. */
  readonly scopes: readonly string[];
  /** Id of the session's key, if it is one of these. */
  readonly ownId?: string;
  /** Whether the keys have limits. */
  readonly isLimited: boolean;
  /** Link to the usage of a key. */
  readonly usageOf?: (key: Key) => string;
  readonly create: (key: NewKey) => Promise<IssuedKey>;
  /** For operators. */
  readonly invite?: (facts: Invitation) => Promise<Pick<Invited, 'url' | 'mailFailure'>>;
  readonly setLimits: (keyId: string, limits: WantedLimits | undefined) => Promise<unknown>;
  readonly rotate: (keyId: string, overlapSeconds: number) => Promise<IssuedKey>;
  readonly revoke: (keyId: string) => Promise<unknown>;
}

/** Calls that keys of an account have as well as admin keys. */
type KeyCalls = Pick<
  typeof management,
  'listKeys' | 'createKey' | 'setKeyLimits' | 'rotateKey' | 'revokeKey'
>;

function changesBy(client: KeyCalls) {
  return {
    setLimits: (keyId, limits) => client.setKeyLimits({ keyId, ...(limits && { limits }) }),
    rotate: (keyId, overlapSeconds) => client.rotateKey({ keyId, overlapSeconds }),
    revoke: (keyId) => client.revokeKey({ keyId }),
  } satisfies Partial<KeyOwner>;
}

function ofOneAccount(client: KeyCalls, account: { readonly accountId?: string }) {
  return {
    ...changesBy(client),
    accountId: '',
    ...account,
    isLimited: true,
    list: (signal) => allKeys((page) => client.listKeys({ ...account, ...page }, { signal })),
    create: (key) => client.createKey({ ...account, ...key }),
  } satisfies Partial<KeyOwner>;
}

/** The keys of the account of this session, for a key that manages. */
export function ownKeys(scopes: readonly string[], ownId: string): KeyOwner {
  const usageOf = ({ id }: Key) => `/console/usage?key=${id}`;
  return { ...ofOneAccount(management, {}), scopes, ownId, usageOf };
}

/** The keys of an account, for an operator. */
export function keysOfAccount(accountId: string): KeyOwner {
  return {
    ...ofOneAccount(admin, { accountId }),
    scopes: ['speech', 'transcription', 'chat', 'manage'],
    usageOf: (key) => `/console/usage?account=${key.accountId}&key=${key.id}`,
    invite: (facts) => admin.createInvitation({ accountId, ...facts }),
  };
}

export function adminKeys(scopes: readonly string[], ownId: string): KeyOwner {
  return {
    ...changesBy(admin),
    accountId: '',
    scopes,
    ownId,
    isLimited: false,
    list: (signal) => allKeys((page) => admin.listAdminKeys(page, { signal })),
    create: ({ name, scopes: wanted, expiresAt }) =>
      admin.createAdminKey({ name, scopes: wanted, ...(expiresAt && { expiresAt }) }),
    invite: (facts) => admin.createInvitation(facts),
  };
}
