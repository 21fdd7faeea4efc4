/** The least that a durable record can cost: one write into place of a file on the disk, by Node's own threads. */
import { closeSync, constants, openSync, rmSync, write, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The size of a plain chat's record. */
const recordBytes = 163;
/** Has room before the first record, as SQLite's log has once it is full: a file that grows costs twice as much. */
const fileBytes = 2 ** 24;

/** For a yardstick whose last argument is `durable`: a function that resolves when another record is on the disk. */
export function durableWriter(): (() => Promise<void>) | undefined {
  if (process.argv.at(-1) !== 'durable') return undefined;
  const path = join(tmpdir(), `parley-bench-records-${process.pid}`);
  writeFileSync(path, Buffer.alloc(fileBytes), { flush: true });
  const file = openSync(path, constants.O_WRONLY | constants.O_DSYNC);
  process.once('exit', () => {
    closeSync(file);
    rmSync(path);
  });
  const record = Buffer.alloc(recordBytes, 'r');
  let at = 0;
  return () =>
    new Promise((resolve, reject) => {
      at = at + 2 * recordBytes > fileBytes ? 0 : at + recordBytes;
      write(file, record, 0, recordBytes, at, (error) => (error ? reject(error) : resolve()));
    });
}
