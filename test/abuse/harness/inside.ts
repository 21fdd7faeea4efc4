/**
 * Runs inside the attacked server (`node --import`): measures the event loop, and moves the clock on demand. A block is
 * a time in which the loop takes no turn. It excludes the time in which the main thread waits for a core because of
 * other programs.
 */
import { isMainThread } from 'node:worker_threads';
import type { Answer, Question } from './questions.ts';
import { waitForCore } from './wait-for-core.ts';

const tickMs = 10;

if (isMainThread && process.send) watch(process.send.bind(process));

function watch(send: (answer: Answer) => void): void {
  const waitedMs = waitForCore(process.pid);
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
  // Ends together with the attacker, even if that is killed.
  process.once('disconnect', () => process.exit(1));
  // Does not keep a stopping server alive.
  process.channel?.unref();
}

/** Collects twice, as buffers are freed by the second collection. */
function collectGarbage(): void {
  for (let round = 0; round < 2; round++) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }
}
