/** Reads usage as of one moment, in small steps: the process serves requests between them. */
import Sqlite from 'better-sqlite3';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import { forCaller } from '../sqlite/storage-failures.ts';

/** Records that one step reads. The sum of their token counts, each at most 2^53, fits into 64 bits. */
const recordsAtOnce = 1_000;

/**
 * Later writes are not seen, and do not wait.
 * @param path of the database, opened on another connection
 * @throws `overloaded` if the database cannot be read
 */
export async function readSnapshot<T>(path: string, read: (snapshot: Connection) => Promise<T>): Promise<T> {
  let snapshot: Connection | undefined;
  try {
    snapshot = new Sqlite(path, { readonly: true, fileMustExist: true });
    snapshot.defaultSafeIntegers(true);
    snapshot.exec('begin');
    return await read(snapshot);
  } catch (error) {
    throw forCaller(error);
  } finally {
    snapshot?.close();
  }
}

interface IdRange {
  readonly after: string;
  readonly until: string;
  readonly accountId?: string | undefined;
}

/** Divides a range of record ids into steps. */
export function* steps(
  snapshot: Connection,
  { after, until, accountId }: IdRange,
): Generator<{ readonly after: string; readonly last: string }> {
  let ids = query.selectFrom('usage_records').select('id').where('id', '<=', until).orderBy('id');
  if (accountId !== undefined) ids = ids.where('account_id', '=', accountId);
  const lastOfStep = prepare(snapshot, (p: { after: string }) =>
    ids
      .where('id', '>', p.after)
      .limit(1)
      .offset(recordsAtOnce - 1),
  );
  let from = after;
  for (;;) {
    const last: string | undefined = lastOfStep.get({ after: from })?.id;
    yield { after: from, last: last ?? until };
    if (last === undefined) return;
    from = last;
  }
}
