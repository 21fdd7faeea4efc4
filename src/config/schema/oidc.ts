import * as z from 'zod';
import { isOfAccount, roles } from '../../core/access/people.ts';
import { isSafeUrl } from '../../core/entities/identity-provider.ts';
import { group, list, oneOf, optional, path, text } from './setting-types.ts';

const words = (allowed: string) => text(/^.{0,1000}\S.{0,1000}$/, allowed);
const scope = text(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'the name of a scope');

const rule = group({
  claim: words('the name of a claim'),
  value: words('a value of the claim, in quotes if it looks like a number'),
  role: oneOf(roles),
  account: optional(words('the name or id of an account')),
}).refine(({ role, account }) => (account !== undefined) === isOfAccount(role), {
  path: ['account'],
  error: 'the account of a holder or manager; an operator has none',
});

export const oidc = group({
  name: words('a name').default('single sign-on'),
  issuer: text(isSafeUrl, 'a URL that begins with https://, or with http:// for a provider on this machine'),
  clientId: words('the id of this client'),
  clientSecretFile: optional(path()),
  scopes: z
    .array(scope, { error: 'a list of scopes' })
    .refine((names) => names.includes('openid'), { error: 'a list of scopes with openid' })
    .default(['openid', 'profile', 'email']),
  consoleUrls: z
    .array(text(isOrigin, 'a URL such as https://parley.example.com, without a path'), {
      error: 'a list of URLs such as https://parley.example.com',
    })
    .min(1, { error: 'a list of at least one URL' })
    .max(20, { error: 'a list of at most 20 URLs' }),
  rules: list(rule, 'a list of rules', 1_000),
}).optional();

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
