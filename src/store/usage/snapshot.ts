/** Reads usage as of one moment, in small steps: the process serves requests between them. */
import Sqlite from 'better-sqlite3';
import { Reader } from '../sqlite/reader.ts';
import { forCaller, unusable } from '../sqlite/storage-failures.ts';
import { query, statement } from '../statement.ts';

/** Records that one step reads. The sum of their token counts, each at most 2^53, fits into 64 bits. */
const recordsAtOnce = 1_000;

/**
 * Later writes are not seen, and do not wait.
 * @param path of the database, opened on another connection
 * @throws `overloaded` if the database cannot be read
 */
export async function readSnapshot<T>(path: string, read: (snapshot: Reader) => Promise<T>): Promise<T> {
  const connection = open(path);
  try {
    connection.defaultSafeIntegers(true);
    connection.exec('begin');
    return await read(new Reader(connection));
  } catch (error) {
    throw forCaller(error);
  } finally {
    connection.close();
  }
}

/** The driver has an error of its own for a missing folder. */
function open(path: string): Sqlite.Database {
  try {
    return new Sqlite(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw unusable(error);
  }
}

interface IdRange {
  readonly after: string;
  readonly until: string;
  readonly accountId?: string | undefined;
}

/** Divides a range of record ids into steps. */
export function* steps(
  snapshot: Reader,
  { after, until, accountId }: IdRange,
): Generator<{ readonly after: string; readonly last: string }> {
  let ids = query.selectFrom('usage_records').select('id').where('id', '<=', until).orderBy('id');
  if (accountId !== undefined) ids = ids.where('account_id', '=', accountId);
  const lastOfStep = statement((p: { after: string }) =>
    ids
      .where('id', '>', p.after)
      .limit(1)
      .offset(recordsAtOnce - 1),
  );
  let from = after;
  for (;;) {
    const last: string | undefined = snapshot.get(lastOfStep, { after: from })?.id;
    yield { after: from, last: last ?? until };
    if (last === undefined) return;
    from = last;
  }
}
