import Sqlite from 'better-sqlite3';

/** `@types/better-sqlite3` lacks the second parameter. */
interface ExtensionLoader {
  loadExtension(file: string, entry: string): unknown;
}

/**
 * Returns freed memory to the system with glibc's `malloc_trim`. `free` returns memory only at the end of a heap: one small block
 * that lives there keeps all freed memory below it, 90 MB after a busy minute. Takes some 15 ms for 100 MB.
 *
 * Node cannot call a C library, but SQLite can: it calls a function of a library as the entry of an extension. The first argument is a
 * pointer, so `malloc_trim` leaves the end of the main heap alone; MALLOC_TRIM_THRESHOLD_ bounds that. Without glibc nothing happens.
 */
export function returnFreedMemory(): void {
  const connection = new Sqlite(':memory:');
  const loader: ExtensionLoader = connection;
  try {
    loader.loadExtension('libc.so.6', 'malloc_trim');
  } catch (error) {
    // SQLite reports failure both for the result 1, which means that memory was returned, and for a missing library.
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  } finally {
    connection.close();
  }
}
