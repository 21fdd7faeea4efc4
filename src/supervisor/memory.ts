import { readdir, readFile } from 'node:fs/promises';

/**
 * Memory of a process and its descendants, in bytes. Pages that several processes share count once, so weights that are
 * mapped into memory do too. Undefined where the system does not report it.
 */
export async function memoryOf(pid: number): Promise<number | undefined> {
  const sizes = await Promise.all((await withDescendants(pid)).map(proportionalBytes));
  const known = sizes.filter((size) => size !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, size) => sum + size, 0);
}

async function withDescendants(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [pid, ...(await Promise.all(children.map(withDescendants))).flat()];
}

/** Each thread has a list of the processes that it started. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

async function proportionalBytes(pid: number): Promise<number | undefined> {
  const [, kibibytes] = /^Pss:\s+(\d+)/m.exec(await textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Empty if the process has ended. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
