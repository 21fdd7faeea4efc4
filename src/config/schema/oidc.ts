import * as z from 'zod';
import { isOfAccount, roles } from '../../core/access/people.ts';
import { isSafeUrl } from '../../core/entities/identity-provider.ts';
import { group, list, oneOf, optional, path, text } from './setting-types.ts';

const words = (allowed: string) => text(/^.{0,1000}\S.{0,1000}$/, allowed);
const issuerAllowed = 'a URL that begins with https://, or with http:// for a provider on this machine';
const originAllowed = 'a URL such as https://parley.example.com, without a path';
const scope = text(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'the name of a scope');

const rule = group({
  claim: words('the name of a claim').describe(
    'The claim of the ID token, such as groups. Dots lead into objects: realm_access.roles. The claim `email` counts only if the provider has verified it.',
  ),
  value: words('a value of the claim, in quotes if it looks like a number').describe(
    'Its value, or one of its values.',
  ),
  role: oneOf(roles).describe(
    'The rights: holder uses an account, manager also manages its keys, operator may do everything, and readOnlyOperator sees accounts, ledgers and usage.',
  ),
  account: optional(words('the name or id of an account')).describe(
    'The account of a holder or manager, by name or id. Operators have none.',
  ),
})
  .refine(({ role, account }) => (account !== undefined) === isOfAccount(role), {
    path: ['account'],
    error: 'the account of a holder or manager; an operator has none',
  })
  .describe('A rule.');

export const oidc = group({
  name: words('a name')
    .default('single sign-on')
    .describe('The name of the provider on the button of the sign-in page.'),
  issuer: z
    .string({ error: issuerAllowed })
    .refine(isSafeUrl, { error: issuerAllowed })
    .describe('The issuer: the URL before /.well-known/openid-configuration.'),
  clientId: words('the id of this client').describe('The id of this client at the provider.'),
  clientSecretFile: optional(path()).describe(
    'A file with the secret of this client. Default: the client is public and has none.',
  ),
  scopes: z
    .array(scope, { error: 'a list of scopes' })
    .refine((names) => names.includes('openid'), { error: 'a list of scopes with openid' })
    .default(['openid', 'profile', 'email'])
    .describe('The scopes to ask for.'),
  consoleUrls: z
    .array(z.string({ error: originAllowed }).refine(isOrigin, { error: originAllowed }), {
      error: 'a list of URLs such as https://parley.example.com',
    })
    .min(1, { error: 'a list of at least one URL' })
    .max(20, { error: 'a list of at most 20 URLs' })
    .describe(
      'The URLs at which browsers reach the console, without /console. Register each at the provider, followed by /console/oidc/callback.',
    ),
  rules: list(rule, 'a list of rules', 1_000).describe(
    'Who may sign in, and as what. The first rule that fits counts. A person without a rule is refused.',
  ),
})
  .optional()
  .describe('Sign-in to the console with an identity provider, by OpenID Connect. Default: with keys only.');

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
