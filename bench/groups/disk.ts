import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const tmpfsType = 0x01021994;

/** Says whether a sync costs nothing where databases are. */
export function notesOnDisk(): string[] {
  if (statfsSync(tmpdir()).type !== tmpfsType) return [];
  return [
    'The folder of temporary files is in memory, where a sync costs nothing. Set TMPDIR to a folder on a disk.',
  ];
}
