/** The worker thread's side of a pool: runs the tasks that the pool sends, and answers each. */
import { parentPort } from 'node:worker_threads';
import type { FromThread, ToThread } from './thread.ts';

interface TaskHandlers<Task, Result> {
  /** Runs one task. `session` is 0 for tasks outside a session. An exception fails this task only. */
  run(task: Task, session: number): Result | Promise<Result>;
  /** The parts of a result that move to the main thread instead of being copied. */
  transfer?(result: Result): readonly ArrayBuffer[];
  /** Frees the resources that the thread keeps for a session. */
  close?(session: number): void | Promise<void>;
}

/** Call once, at the top of a worker's entry. */
export function serveTasks<Task, Result>(handlers: TaskHandlers<Task, Result>): void {
  const port = parentPort;
  if (port === null) throw new Error('tasks can only be served in a worker thread');
  const post = (message: FromThread<Result>, transfer?: readonly ArrayBuffer[]) =>
    port.postMessage(message, transfer);

  port.on('message', async (message: ToThread<Task>) => {
    if (message.kind === 'close') return handlers.close?.(message.session);
    try {
      const result = await handlers.run(message.task, message.session);
      post({ id: message.id, result }, handlers.transfer?.(result));
    } catch (error) {
      // WebAssembly that trapped may be broken for later tasks, so end the thread; the pool starts another.
      if (error instanceof Error && error.name === 'RuntimeError') throw error;
      post({
        id: message.id,
        failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  });
}
