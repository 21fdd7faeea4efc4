/** The pool of worker threads: fair order, limits, sessions, aborts, and threads that die or idle. */
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/threads/fair-queue.ts';
import { createThreadPool, type ThreadPool, type ThreadPoolOptions } from '../../src/threads/pool.ts';

type Task = string;

/** Counts the tasks of each session, and answers with the task and its number. */
const entry = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { serveTasks } from '${new URL('../../src/threads/serve-tasks.ts', import.meta.url).href}';
  const counts = new Map();
  serveTasks({
    run(task, session) {
      if (task === 'crash') process.exit(3);
      if (task === 'fail') throw new Error('the task failed');
      if (task === 'trap') throw new WebAssembly.RuntimeError('unreachable');
      if (task === 'hang') while (true);
      if (task === 'doze') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      counts.set(session, (counts.get(session) ?? 0) + 1);
      return task + ' ' + counts.get(session);
    },
    close(session) { counts.delete(session); },
  });
`)}`,
);

/** The threads that were started, as Node itself reports them. */
let threads: Worker[];
const noteThread = (thread: Worker) => threads.push(thread);
const pools: ThreadPool<Task, string>[] = [];

function newPool(options: Partial<ThreadPoolOptions> = {}): ThreadPool<Task, string> {
  const pool = createThreadPool<Task, string>({ entry, threads: 1, ...options });
  pools.push(pool);
  return pool;
}

const exited = (thread: Worker | undefined) => new Promise((resolve) => thread?.once('exit', resolve));

beforeEach(() => {
  threads = [];
  process.on('worker', noteThread);
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  process.off('worker', noteThread);
});

describe('the queue', () => {
  it('runs the first job of each request before any later one, then lets the requests take turns', () => {
    const queue = new FairQueue<string>();
    const [a, b, c] = [queue.enter(), queue.enter(), queue.enter()];
    for (const job of ['a1', 'a2', 'a3']) a.add(job);
    for (const job of ['b1', 'b2']) b.add(job);
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['a1', 'b1', 'a2']);
    for (const job of ['c1', 'c2']) c.add(job);
    expect(queue.waiting).toBe(1);
    expect([1, 2, 3, 4, 5].map(() => queue.take())).toEqual(['c1', 'b2', 'a3', 'c2', undefined]);
  });

  it('lets owners take turns, also with different numbers of requests', () => {
    const queue = new FairQueue<string>();
    for (const job of ['a1', 'a2', 'a3', 'a4']) queue.enter('a').add(job);
    const other = queue.enter('b');
    for (const job of ['b1', 'b2']) other.add(job);
    expect([1, 2, 3, 4, 5, 6].map(() => queue.take())).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
    other.leave();
    expect([queue.of('a').size, queue.of('b').size, queue.size]).toEqual([4, 0, 4]);
  });

  it('forgets the jobs of a request that leaves', () => {
    const queue = new FairQueue<string>();
    const place = queue.enter();
    place.add('said to nobody');
    place.leave();
    expect([queue.size, queue.waiting, queue.take()]).toEqual([0, 0, undefined]);
  });
});

describe('tasks', () => {
  it('share a thread fairly: a short request does not wait for a long one', async () => {
    const pool = newPool();
    const [long, short] = [pool.enter(), pool.enter()];
    const ended: string[] = [];
    const tasks = ['long', 'long', 'long'].map((task) => long.run(task).then(() => ended.push('long')));
    tasks.push(short.run('short').then(() => ended.push('short')));
    await Promise.all(tasks);
    expect(ended).toEqual(['long', 'short', 'long', 'long']);
    expect(threads).toHaveLength(1);
  });

  it('run on as many threads as the pool has, and no more', async () => {
    const group = newPool({ threads: 2 }).enter();
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((task) => group.run(task)));
    expect(threads).toHaveLength(2);
  });

  it('that throw fail alone, and leave their thread running', async () => {
    const group = newPool().enter();
    const failed = expect(group.run('fail')).rejects.toMatchObject({
      code: 'internal_error',
      cause: { message: expect.stringContaining('the task failed') },
    });
    expect(await group.run('well')).toBe('well 1');
    await failed;
    expect(threads).toHaveLength(1);
  });

  it('of a session share the state of one thread, until it closes', async () => {
    const pool = newPool({ threads: 2 });
    const [first, second] = [pool.openSession(), pool.openSession()];
    await first.run('a');
    expect([await first.run('a'), await second.run('b')]).toEqual(['a 2', 'b 1']);
    first.close();
    expect(await pool.openSession().run('c')).toBe('c 1');
    expect(threads).toHaveLength(2);
  });

  it('are refused if too many requests wait or are open', async () => {
    const full = { code: 'overloaded', retryAfterSeconds: 2, hasNotRun: true };
    const pool = newPool({ waitingMax: 1, openMax: 3 });
    const groups = [pool.enter(), pool.enter()];
    const running = groups.map((group) => group.run('a'));
    expect(() => pool.enter()).toThrow(expect.objectContaining(full));
    await Promise.all(running);
    pool.enter();
    expect(() => pool.enter()).toThrow(expect.objectContaining(full));
    groups[0]?.leave();
    expect(() => pool.enter()).not.toThrow();
  });

  it('of one owner use half of the places, unless they must run', async () => {
    const full = { code: 'overloaded', hasNotRun: true };
    const pool = newPool({ openMax: 4 });
    const enter = (owner: string, isOwed = false) => pool.enter(undefined, { owner, isOwed });
    const groups = [enter('a'), enter('a')];
    expect(() => enter('a')).toThrow(expect.objectContaining(full));
    enter('b');
    enter('a', true);
    expect(() => enter('b')).toThrow(expect.objectContaining(full));
    groups[0]?.leave();
    enter('b');
  });

  it('that wait are cancelled at once by an abort', async () => {
    const pool = newPool();
    const abort = new AbortController();
    const running = pool.enter().run('a');
    const waiting = expect(pool.enter(abort.signal).run('b')).rejects.toMatchObject({
      code: 'request_cancelled',
    });
    abort.abort();
    await waiting;
    expect([await running, pool.waiting]).toEqual(['a 1', 0]);
  });

  it('that run are ended with their thread by an abort, if the pool says so', async () => {
    const pool = newPool({ abortEndsThread: true });
    const abort = new AbortController();
    const hanging = expect(pool.enter(abort.signal).run('hang')).rejects.toMatchObject({
      code: 'request_cancelled',
    });
    const waiting = pool.enter().run('b');
    abort.abort();
    await hanging;
    expect(await waiting).toBe('b 1');
    expect(threads).toHaveLength(2);
  });

  it('of a session are ended with their thread when it closes, if the pool says so', async () => {
    const session = newPool({ abortEndsThread: true }).openSession();
    await session.run('a');
    const hanging = expect(session.run('hang')).rejects.toMatchObject({ code: 'request_cancelled' });
    session.close();
    await hanging;
    await exited(threads[0]);
  });
});

describe('a thread', () => {
  it.each(['crash', 'trap'])('that meets a %s fails its task only, and is replaced', async (task) => {
    const pool = newPool();
    const [bad, good] = [pool.enter(), pool.enter()];
    const failed = expect(bad.run(task)).rejects.toMatchObject({ code: 'internal_error' });
    expect(await good.run('well')).toBe('well 1');
    await failed;
    expect(threads).toHaveLength(2);
  });

  it('that uses too much CPU time is ended', async () => {
    const pool = newPool({ taskCpuMsMax: 300 });
    await expect(pool.enter().run('hang')).rejects.toMatchObject({ code: 'internal_error' });
    expect(threads).toHaveLength(1);
  });

  it('that only takes long, as on a busy machine, continues', async () => {
    const group = newPool({ taskCpuMsMax: 800 }).enter();
    await group.run('a');
    expect(await group.run('doze')).toBe('doze 2');
    expect(threads).toHaveLength(1);
  });

  it('that hangs without using the CPU is ended', async () => {
    const pool = newPool({ taskCpuMsMax: 50 });
    await expect(pool.enter().run('doze')).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('fails its sessions when it dies', async () => {
    const session = newPool().openSession();
    await session.run('a');
    await threads[0]?.terminate();
    await expect(session.run('b')).rejects.toMatchObject({ code: 'internal_error' });
    session.close();
  });

  it('ends after idling, and another starts with the next task', async () => {
    const pool = newPool({ idleMs: 50 });
    const group = pool.enter();
    await group.run('a');
    await exited(threads[0]);
    expect(await group.run('b')).toBe('b 1');
    expect(threads).toHaveLength(2);
  });

  it('does not end while a session is open', async () => {
    const pool = newPool({ idleMs: 50 });
    const session = pool.openSession();
    await session.run('a');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await session.run('a')).toBe('a 2');
    session.close();
    await exited(threads[0]);
  });

  it('ends with the pool, whose tasks fail and which accepts no more', async () => {
    const pool = newPool();
    const hanging = expect(pool.enter().run('hang')).rejects.toMatchObject({ code: 'overloaded' });
    const session = pool.openSession();
    await pool.close();
    await hanging;
    await expect(session.run('a')).rejects.toMatchObject({ code: 'overloaded' });
    expect(() => pool.enter()).toThrow(expect.objectContaining({ code: 'overloaded' }));
    expect(() => pool.openSession()).toThrow(expect.objectContaining({ code: 'overloaded' }));
  });
});
