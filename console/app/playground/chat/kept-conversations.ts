/** Conversations in this browser's IndexedDB. The oldest go first when they are too many or too large; the newest stays. */
import type { Turn } from './chat-run.ts';

/** Of one person. */
export const conversationsMax = 50;
const bytesMax = 20_000_000;

export interface Kept {
  readonly id: string;
  /** Who sees it in this browser. */
  readonly owner: string;
  readonly title: string;
  readonly changedMs: number;
  readonly bytes: number;
}

interface KeptTurns {
  readonly id: string;
  readonly turns: readonly Turn[];
}

/** Tells when a conversation has changed. */
export const keptChanges = new EventTarget();

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open('parley', 1);
  request.onupgradeneeded = () => {
    const database = request.result;
    database.createObjectStore('heads', { keyPath: 'id' }).createIndex('owner', 'owner');
    // Apart, so that the list does not read them.
    database.createObjectStore('turns', { keyPath: 'id' });
  };
  return resultOf(request);
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

interface Stores {
  readonly heads: IDBObjectStore;
  readonly turns: IDBObjectStore;
}

async function inStores<T>(mode: IDBTransactionMode, work: (stores: Stores) => Promise<T>): Promise<T> {
  const database = await open();
  try {
    const transaction = database.transaction(['heads', 'turns'], mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const result = await work({
      heads: transaction.objectStore('heads'),
      turns: transaction.objectStore('turns'),
    });
    await done;
    if (mode === 'readwrite') keptChanges.dispatchEvent(new Event('change'));
    return result;
  } finally {
    database.close();
  }
}

const newestFirst = async (heads: IDBObjectStore, owner: string): Promise<Kept[]> => {
  const all: Kept[] = await resultOf(heads.index('owner').getAll(owner));
  return all.sort((one, other) => other.changedMs - one.changedMs);
};

export const listKept = (owner: string): Promise<readonly Kept[]> =>
  inStores('readonly', ({ heads }) => newestFirst(heads, owner));

/** The turns; undefined if the conversation is not kept any more. */
export const readKept = (id: string): Promise<readonly Turn[] | undefined> =>
  inStores('readonly', async ({ turns }) => {
    const kept: KeptTurns | undefined = await resultOf(turns.get(id));
    return kept?.turns;
  });

/** Keeps the title that the person gave. */
export function keep({ id, owner, title }: Pick<Kept, 'id' | 'owner' | 'title'>, turns: readonly Turn[]) {
  return inStores('readwrite', async (stores) => {
    const earlier: Kept | undefined = await resultOf(stores.heads.get(id));
    const bytes = sizeOf(turns);
    stores.heads.put({ id, owner, title: earlier?.title ?? title, changedMs: Date.now(), bytes });
    stores.turns.put({ id, turns });
    let sum = 0;
    for (const [index, kept] of (await newestFirst(stores.heads, owner)).entries()) {
      sum += kept.bytes;
      if (index > 0 && (index >= conversationsMax || sum > bytesMax)) remove(stores, kept.id);
    }
  });
}

/** Approximate: texts and images are much the largest part. */
const sizeOf = (turns: readonly Turn[]): number =>
  JSON.stringify(turns, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).length;

function remove({ heads, turns }: Stores, id: string): void {
  heads.delete(id);
  turns.delete(id);
}

export const renameKept = (id: string, title: string): Promise<void> =>
  inStores('readwrite', async ({ heads }) => {
    const head: Kept | undefined = await resultOf(heads.get(id));
    if (head !== undefined) heads.put({ ...head, title });
  });

export const deleteKept = (ids: readonly string[]): Promise<void> =>
  inStores('readwrite', async (stores) => {
    for (const id of ids) remove(stores, id);
  });
