/** A small file system of its own, which a test can fill to the last byte. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  /** Writes until nothing fits. */
  fill(): void;
  /** Makes room again. */
  free(): void;
  release(): void;
}

/** The reason why this machine cannot mount one; undefined if it can. */
export const cannotMount = canMount() ? undefined : 'only root can mount a small file system';

export function smallDisk(size = '16m'): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'parley-disk-'));
  const filler = join(folder, 'filler');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'parley-test', folder], { stdio: 'ignore' });
  return {
    folder,
    fill: () => {
      const file = openSync(filler, 'a');
      try {
        for (;;) writeSync(file, Buffer.alloc(4096));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    release: () => {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    smallDisk('64k').release();
    return true;
  } catch {
    return false;
  }
}
