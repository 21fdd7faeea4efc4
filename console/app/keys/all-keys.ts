import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';

const pageSize = 1_000;

/** The keys of all pages. */
export async function allKeys(
  readPage: (page: {
    readonly pageSize: number;
    readonly pageToken?: string;
  }) => Promise<{ readonly keys: readonly Key[]; readonly nextPageToken?: string | undefined }>,
): Promise<readonly Key[]> {
  const all: Key[] = [];
  let token: string | undefined;
  do {
    const { keys, nextPageToken } = await readPage({
      pageSize,
      ...(token !== undefined && { pageToken: token }),
    });
    all.push(...keys);
    token = nextPageToken;
  } while (token !== undefined);
  return all;
}
