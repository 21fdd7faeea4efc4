import Sqlite from 'better-sqlite3';
import type { Queries } from '../../sql/executor.ts';
import { queriesOn } from './reader.ts';
import { forCaller, unusable } from './storage-failures.ts';

/**
 * Reads the state of one moment. Later writes are neither seen nor blocked.
 * @param path of the database, opened on another connection
 * @throws `overloaded` if the database cannot be read
 */
export async function readSnapshot<T>(path: string, read: (snapshot: Queries) => Promise<T>): Promise<T> {
  const connection = open(path);
  try {
    connection.defaultSafeIntegers(true);
    connection.exec('begin');
    return await read(queriesOn(connection));
  } catch (error) {
    throw forCaller(error);
  } finally {
    connection.close();
  }
}

/** The driver reports a missing folder by another error. */
function open(path: string): Sqlite.Database {
  try {
    return new Sqlite(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw unusable(error);
  }
}
