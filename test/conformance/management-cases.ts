/** Calls by a key that manages the keys of its own account. */
import { ManagementService } from '../../gen/parley/management/v1/management_service_pb.ts';
import { type Case, type CaseRequest, calling, ended, ok } from './case.ts';

const { method } = ManagementService;
const scopes = ['chat', 'manage'];

function managed(what: string, request: CaseRequest, rest: Partial<Case> = {}): Case {
  const records = [ok({ operation: 'manage' })];
  return { what: `manage: ${what}`, server: 'builtin', caller: { scopes }, request, records, ...rest };
}

function refused(
  what: string,
  code: 'insufficient_scope' | 'not_found' | 'invalid_parameter' | 'too_many_keys',
  param: string | undefined,
  request: CaseRequest,
  rest: Partial<Case> = {},
): Case {
  const records = [ended('refused', code, { operation: 'manage' })];
  return managed(`${code}: ${what}`, request, { error: { code, ...(param && { param }) }, records, ...rest });
}

export const managementCases: readonly Case[] = [
  managed('the calling key, which needs no scope for that', calling(method.getKey, {}), {
    caller: { scopes: ['chat'], limits: { models: ['eliza'] } },
    answer: [{ key: { name: 'test', limits: { models: ['eliza'] } } }],
    records: [ok({ operation: 'account' })],
  }),
  managed('the keys of the account', calling(method.listKeys, {}), {
    answer: [{ keys: [{ name: 'test', scopes }] }],
  }),
  managed('a page of the keys', calling(method.listKeys, { pageSize: 1 }), {
    answer: [{ keys: [{ name: 'test' }] }],
  }),
  managed(
    'the keys of the account, by its name',
    calling(method.listKeys, ({ accountName }) => ({ accountId: accountName })),
    { answer: [{ keys: [{ name: 'test' }] }] },
  ),
  managed(
    'a key of the account, by its name',
    calling(method.createKey, ({ accountName }) => ({ accountId: accountName, name: 'a' })),
    { answer: [{ key: { name: 'a' } }] },
  ),
  refused(
    'the keys of another account',
    'not_found',
    'account_id',
    calling(method.listKeys, { accountId: 'acc_none' }),
  ),
  refused(
    'a key of another account',
    'not_found',
    'account_id',
    calling(method.createKey, { accountId: 'acc_none', name: 'a' }),
  ),
  refused(
    'a page that is too large',
    'invalid_parameter',
    'page_size',
    calling(method.listKeys, { pageSize: 1001 }),
  ),
  managed(
    'a key is made, with the scopes of the caller but `manage`',
    calling(method.createKey, { name: 'a' }),
    { answer: [{ key: { name: 'a', scopes: ['chat'], prefix: 'pk_' } }] },
  ),
  managed('a key inherits the models of the caller', calling(method.createKey, { name: 'a' }), {
    caller: { scopes, limits: { models: ['eliza'] } },
    answer: [{ key: { limits: { models: ['eliza'] } } }],
  }),
  refused(
    'a key with more scopes',
    'insufficient_scope',
    'scopes',
    calling(method.createKey, { name: 'a', scopes: ['speech'] }),
  ),
  refused(
    'a key with a larger budget',
    'insufficient_scope',
    'limits.budgets.month',
    calling(method.createKey, { name: 'a', limits: { budgets: { month: '3' } } }),
    { caller: { scopes, limits: { budgets: { month: '2.5' } } } },
  ),
  refused(
    'a key more than an account may have',
    'too_many_keys',
    undefined,
    calling(method.createKey, { name: 'a' }),
    { server: 'strict', isOfServer: true },
  ),
  refused('a key without a name', 'invalid_parameter', 'name', calling(method.createKey, {})),
  managed(
    'a key is limited',
    calling(method.setKeyLimits, ({ keyId }) => ({ keyId, limits: { tokensPerMinute: 1000 } })),
    { answer: [{ key: { limits: { tokens_per_minute: 1000 } } }] },
  ),
  managed(
    'a key is rotated',
    calling(method.rotateKey, ({ keyId }) => ({ keyId, overlapSeconds: 60 })),
    { answer: [{ key: { name: 'test', scopes } }] },
  ),
  refused('a key of nobody', 'not_found', 'key_id', calling(method.revokeKey, { keyId: 'key_none' })),
  managed(
    'a key revokes itself',
    calling(method.revokeKey, ({ keyId }) => ({ keyId })),
    { answer: [{ key: { revoked_at: '<chance>' } }] },
  ),
  {
    ...managed('insufficient_scope: a key without the scope', calling(method.listKeys, {})),
    caller: {},
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'manage' })],
  },
  {
    ...managed('account_suspended: the operator has suspended the account', calling(method.listKeys, {})),
    caller: { scopes, isSuspended: true },
    error: { code: 'account_suspended' },
    records: [ended('refused', 'account_suspended', { operation: 'manage' })],
  },
];
