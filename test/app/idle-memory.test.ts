/** Idle memory: the heap is returned to the system after a busy time, and never while a request runs. */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, it, vi } from 'vitest';

/** The flags that were set in V8: a collection by V8 itself sets none. */
const asked: string[] = [];
vi.doMock('node:v8', async (original) => {
  const v8 = await original<typeof import('node:v8')>();
  const setFlagsFromString = (flags: string) => {
    asked.push(flags);
    v8.setFlagsFromString(flags);
  };
  return { ...v8, setFlagsFromString };
});
// Other files may have loaded the modules.
vi.resetModules();
const { IdleMemory } = await import('../../src/app/idle-memory.ts');
const { startParley } = await import('../support/parley.ts');
afterAll(() => {
  vi.doUnmock('node:v8');
  vi.resetModules();
});

const quietMs = 200;
const mib = 1024 * 1024;
const heapMiB = () => getHeapStatistics().total_heap_size / mib;

/** Fills the heap with objects that live until it returns. */
function fill(): void {
  const texts = Array.from({ length: 1_500_000 }, (_, index) => ({ text: `text ${index}` }));
  expect(texts.length).toBe(1_500_000);
}

/** Stands for the requests of a server. */
function countedRequests() {
  const counts = { begun: 0, running: 0 };
  return {
    requests: () => counts,
    began: () => {
      counts.begun++;
      counts.running++;
    },
    ended: () => {
      counts.running--;
    },
  };
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it('does not collect while a request runs, and returns the memory once all have ended', async () => {
  // Other files may have left a large heap, in which there is room.
  collectGarbage();
  const { requests, began, ended } = countedRequests();
  const memory = new IdleMemory({ quietMs, requests });
  const beforeMiB = heapMiB();
  began();
  began();
  fill();
  ended();
  const grownMiB = heapMiB() - beforeMiB;
  expect(grownMiB).toBeGreaterThan(64);

  await after(3 * quietMs);
  expect(heapMiB() - beforeMiB).toBeGreaterThan(grownMiB / 2);
  expect(asked).toEqual([]);

  ended();
  await expect.poll(() => heapMiB() - beforeMiB).toBeLessThan(grownMiB / 4);
  expect(asked).toContain('--expose-gc');
  memory.close();
});

it('counts the running requests of a server', async () => {
  const parley = await startParley({ quietMs });
  fill();
  const before = asked.length;
  await parley.call('/models');
  await expect.poll(() => asked.slice(before)).toContain('--expose-gc');
  await parley.close();
});

it('does not collect if the heap has hardly grown', async () => {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries().filter(isFull)));
  observer.observe({ entryTypes: ['gc'] });
  const { requests, began, ended } = countedRequests();
  const memory = new IdleMemory({ quietMs, requests });
  began();
  ended();
  await after(3 * quietMs);
  expect(collections).toEqual([]);
  memory.close();
  observer.disconnect();
});

const noGlibc = hasGlibc() ? '' : ' (skipped: this system has no glibc)';
it.skipIf(noGlibc)(`also returns freed memory below live blocks while a request runs${noGlibc}`, async () => {
  const living = fragment();
  collectGarbage();
  const grownMiB = residentMiB();
  const { requests, began } = countedRequests();
  const memory = new IdleMemory({ quietMs, requests, returnEveryMs: quietMs });
  began();
  await expect.poll(() => grownMiB - residentMiB()).toBeGreaterThan(fragmentedMiB / 2);
  expect(living.every((each) => each[0] === 1)).toBe(true);
  memory.close();
});

const fragmentedMiB = 128;
const residentMiB = () => process.memoryUsage.rss() / mib;

function hasGlibc(): boolean {
  const report = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return report.header.glibcVersionRuntime !== undefined;
}

/** Fills the C heap with blocks, and keeps some small ones between them. */
function fragment(): Buffer[] {
  const blockBytes = 4096;
  const blocks: Buffer[] = [];
  for (let index = 0; index < (fragmentedMiB * mib) / blockBytes; index++) {
    blocks.push(Buffer.allocUnsafeSlow(index % 100 === 0 ? 128 : blockBytes).fill(1));
  }
  return blocks.filter((_, index) => index % 100 === 0);
}

/** Collects twice, as buffers are freed by the second collection, and returns the heap to the system. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const options = { type: 'major', execution: 'sync', flavor: 'last-resort' };
  for (let round = 0; round < 2; round++) runInNewContext('gc')(options);
  setFlagsFromString('--no-expose-gc');
}

function isFull(entry: PerformanceEntry): boolean {
  const { kind } = (entry as PerformanceEntry & { readonly detail: { readonly kind: number } }).detail;
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

it('collects the garbage of the start once, though the heap has not grown', async () => {
  asked.length = 0;
  const memory = new IdleMemory({ settleMs: quietMs, requests: countedRequests().requests });
  await expect.poll(() => asked).toEqual(['--expose-gc']);
  memory.close();
});
