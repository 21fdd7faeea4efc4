import * as z from 'zod';
import { readNetwork } from '../../core/values/addresses.ts';
import { group, path } from './setting-types.ts';
import { smtp } from './smtp.ts';

const networkAllowed = 'an address or a network such as 10.0.0.0/8';

export const alerts = group({
  allowedNetworks: z
    .array(
      z
        .string({ error: networkAllowed })
        .refine((text) => readNetwork(text) !== undefined, { error: networkAllowed }),
      { error: 'a list of networks such as 10.0.0.0/8' },
    )
    .max(100, { error: 'at most 100 networks' })
    .default([])
    .describe(
      'Networks into which webhooks, Slack and Matrix may lead although they are not public, such as 10.0.0.0/8. Plain HTTP is allowed into these only. Default: none.',
    ),
  sealingKeyFile: path()
    .optional()
    .describe(
      'A file with at least 32 characters, with which the secrets of webhooks, Slack and Matrix are sealed in the database. All servers of one database need the same. Default: they are not sealed.',
    ),
  smtp,
})
  .prefault({})
  .describe('Alerts of accounts, by webhook, mail, Slack or Matrix.');
