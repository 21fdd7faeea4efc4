import * as z from 'zod';
import { isMailAddress } from '../../core/alerts/destinations.ts';
import { group, oneOf, path, text, wholeNumber } from './setting-types.ts';

const addressAllowed = 'an address such as parley@example.com';

export const smtp = group({
  host: text(/^[A-Za-z0-9.:_-]{1,255}$/, 'the name or address of a mail server').describe(
    'The name or address of the mail server.',
  ),
  port: wholeNumber(1, 65_535)
    .optional()
    .describe('Its port. Default: 587 for starttls, 465 for implicit, 25 for none.'),
  tls: oneOf(['starttls', 'implicit', 'none'])
    .default('starttls')
    .describe(
      'The encryption: starttls and implicit need a valid certificate of the host, and none is for a server in the same trusted network.',
    ),
  user: text(/^[^\p{Cc}]{1,255}$/u, 'the name of a user')
    .optional()
    .describe('The user who logs in. Default: no login.'),
  passwordFile: path().optional().describe('A file with the password of the user.'),
  from: z
    .string({ error: addressAllowed })
    .refine(isMailAddress, { error: addressAllowed })
    .describe('The address of the sender.'),
  holdersMaySet: z
    .boolean({ error: 'true or false' })
    .default(false)
    .describe(
      'Whether a key of an account with the scope `manage` may set the addresses of its mails. Otherwise only operators may, so that nobody sends mail to strangers through this server.',
    ),
})
  .refine(({ user, passwordFile }) => (user === undefined) === (passwordFile === undefined), {
    path: ['passwordFile'],
    error: 'set exactly when `user` is set',
  })
  .refine(({ user, tls }) => user === undefined || tls !== 'none', {
    path: ['tls'],
    error: 'starttls or implicit with a `user`: without TLS, anyone on the way reads the password',
  })
  .optional()
  .describe('The mail server for alerts by mail. Default: none, and no alerts are mailed.');
