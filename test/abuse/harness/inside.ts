/**
 * Loaded into the server under attack (`node --import`): measures the event loop from inside, and moves the clock on demand.
 *
 * A block is the time in which the loop takes no turn, less the time in which the main thread waits for a core: other programs on
 * the machine do not add to it. Linux counts that wait in `schedstat`.
 */
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { Answer, Question } from './questions.ts';

const tickMs = 10;

if (isMainThread && process.send) watch(process.send.bind(process));

function watch(send: (answer: Answer) => void): void {
  const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const buffer = Buffer.alloc(128);
  const waitedMs = () => {
    const length = readSync(schedstat, buffer, 0, buffer.length, 0);
    return Number(buffer.toString('latin1', 0, length).split(' ')[1]) / 1e6;
  };
  let longestBlockMs = 0;
  let [tickedAtMs, tickedWaitMs] = [performance.now(), waitedMs()];
  const tick = () => {
    const [nowMs, waitMs] = [performance.now(), waitedMs()];
    longestBlockMs = Math.max(longestBlockMs, nowMs - tickedAtMs - tickMs - (waitMs - tickedWaitMs));
    [tickedAtMs, tickedWaitMs] = [nowMs, waitMs];
  };
  setInterval(tick, tickMs).unref();
  const realNow = Date.now;
  process.on('message', (question: Question) => {
    tick();
    if (question.ask === 'shift') Date.now = () => realNow() + question.clockMs;
    if (question.ask === 'collect') collectGarbage();
    const { user, system } = process.threadCpuUsage();
    send({ loopCpuMs: (user + system) / 1000, longestBlockMs });
    if (question.ask !== 'read') {
      longestBlockMs = 0;
      [tickedAtMs, tickedWaitMs] = [performance.now(), waitedMs()];
    }
  });
  // A server that stops must not wait for this.
  process.channel?.unref();
}

/** Twice: buffers are freed by the second. */
function collectGarbage(): void {
  for (let round = 0; round < 2; round++) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }
}
