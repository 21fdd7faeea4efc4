import { group, oneOf, optional, path, text, wholeNumber } from './setting-types.ts';

const urlAllowed = 'a URL such as postgres://parley@db.example.com:5432/parley';

export const store = group({
  kind: oneOf(['sqlite', 'postgres'], 'sqlite'),
  url: optional(text(/^postgres(ql)?:\/\/\S+$/, urlAllowed)),
  urlFile: optional(path()),
  connectionsMax: wholeNumber(2, 1_000, 10),
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
  .prefault({});
