import { group, oneOf, optional, path, text, wholeNumber } from './setting-types.ts';

const urlAllowed = 'a URL such as postgres://parley@db.example.com:5432/parley';

export const store = group({
  kind: oneOf(['sqlite', 'postgres'], 'sqlite').describe(
    'sqlite: a file in the data folder, used by one server. postgres: a PostgreSQL database (15 or newer), which any number of servers share.',
  ),
  url: optional(text(/^postgres(ql)?:\/\/\S+$/, urlAllowed)).describe(
    'The URL of the PostgreSQL database. It may hold the password; then rather set PARLEY_STORE_URL or `urlFile`.',
  ),
  urlFile: optional(path()).describe('A file with that URL.'),
  connectionsMax: wholeNumber(2, 1_000, 10).describe(
    'The largest number of connections of this server to PostgreSQL.',
  ),
})
  .refine(({ kind, url, urlFile }) => kind !== 'postgres' || (url ?? urlFile) !== undefined, {
    path: ['url'],
    error: `${urlAllowed}, or \`store.urlFile\` must name a file with one`,
  })
  .refine(({ kind, url, urlFile }) => kind === 'postgres' || (url ?? urlFile) === undefined, {
    path: ['kind'],
    error: 'postgres, since `store.url` or `store.urlFile` is set',
  })
  .refine(({ url, urlFile }) => url === undefined || urlFile === undefined, {
    path: ['urlFile'],
    error: 'absent, since `store.url` is set as well',
  })
  .prefault({})
  .describe('The database.');
