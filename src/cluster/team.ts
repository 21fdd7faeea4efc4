/** The workers of a server: started, kept at their number, reloaded and stopped together. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { MetricsSnapshot } from '../telemetry/metrics.ts';
import { Backoff } from './backoff.ts';
import { forkWorker } from './fork.ts';
import { keptMsMax } from './kept-holders.ts';
import { Member, type MemberDeps } from './member.ts';
import type { Started, Unavailable } from './roles.ts';
import { answerMsMax, inTime } from './time-limit.ts';

/** How often each worker is asked for a sign of life, and how long it may take to give one before it is killed. */
const lookEveryMs = 5_000;
const silentMsMax = 30_000;
/** What a dead worker has left open is released at once; where the disk does not let it, after such pauses. */
const releaseRetryMs = 1_000;

export interface TeamDeps<Settings> extends MemberDeps<Settings> {
  readonly count: number;
  readonly clock: Clock;
  readonly log: Log;
  /** A worker has ended. @param isLast whether no other takes requests now */
  readonly onEnded: (id: number, isLast: boolean) => void;
}

export class Team<Settings> {
  readonly #deps: TeamDeps<Settings>;
  readonly #members = new Map<number, Member<Settings>>();
  readonly #backoffs = new Map<number, Backoff>();
  readonly #ends = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #look: NodeJS.Timeout | undefined;
  #isStarted = false;

  constructor(deps: TeamDeps<Settings>) {
    this.#deps = deps;
  }

  /** Resolves when all take requests. Rejects with the first failure; then none is left. */
  async start(): Promise<Started> {
    const slots = Array.from({ length: this.#deps.count }, (_, index) => index + 1);
    const [started] = await Promise.all(slots.map((slot) => this.#fork(slot).ready));
    if (started === undefined) throw new Error('There must be a worker.');
    this.#isStarted = true;
    this.#look = setInterval(() => this.#lookAfterAll(), lookEveryMs).unref();
    return started;
  }

  /**
   * Gives all workers other settings, which `settings` of the deps must return once `commit` has been called. Rejects where
   * one of them cannot take them over; then all go on with what they have.
   */
  async reload(settings: Settings, commit: () => void): Promise<readonly Unavailable[]> {
    const members = this.#ready();
    const results = await Promise.allSettled(members.map(({ worker }) => worker.prepareReload(settings)));
    const refused = results.find((result, index) => result.status === 'rejected' && !members[index]?.isGone);
    if (refused?.status === 'rejected') {
      await Promise.allSettled(members.map(({ worker }) => worker.dropReload()));
      throw refused.reason;
    }
    commit();
    const taken = await Promise.all(members.map((member) => this.#takeReload(member, settings)));
    // One that started meanwhile has begun with the earlier settings: its successor will not.
    for (const member of this.#members.values()) {
      if (member.settings !== undefined && member.settings !== settings) member.fork.kill();
    }
    return taken.find((unavailable) => unavailable !== undefined) ?? [];
  }

  /** The first reason of a worker not to get requests. */
  async whyNotReady(): Promise<string | undefined> {
    const reasons = this.#ready().map(async (member) => {
      try {
        return await inTime(member.worker.whyNotReady(), answerMsMax);
      } catch {
        return member.isGone ? undefined : 'A worker does not answer.';
      }
    });
    return (await Promise.all(reasons)).find((reason) => reason !== undefined);
  }

  /** @param note told what each worker has counted; one that does not answer is passed over */
  async readMetrics(note: (id: number, snapshot: MetricsSnapshot) => void): Promise<void> {
    const read = this.#ready().map(async (member) => {
      const snapshot = await inTime(member.worker.metrics(), answerMsMax);
      if (!member.isGone) note(member.fork.id, snapshot);
    });
    await Promise.allSettled(read);
  }

  /** Lets requests in flight finish for at most so long. Resolves when no worker is left, and nothing that one had open. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#look);
    for (const { isReady, worker, fork } of this.#members.values()) {
      // It rejects where the worker ends before it can answer, which is what it is asked for.
      if (isReady) worker.stop().catch(() => undefined);
      else fork.kill();
    }
    const cut = setTimeout(() => {
      for (const { fork } of this.#members.values()) fork.kill();
    }, withinMs);
    while (this.#ends.size > 0) await Promise.all(this.#ends);
    clearTimeout(cut);
  }

  async #forgetHolders(): Promise<void> {
    // Of one that has not joined yet there is nothing to forget, but it is too little to tell it apart.
    const joined = [...this.#members.values()].filter(({ settings }) => settings !== undefined);
    const forgotten = joined.map(async ({ worker }) => {
      try {
        await inTime(worker.forgetHolders(), keptMsMax);
      } catch {
        // It is gone, or has not answered for longer than it may believe what it was told before.
      }
    });
    await Promise.all(forgotten);
  }

  #ready(): Member<Settings>[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady);
  }

  #fork(slot: number): Member<Settings> {
    const place = { slot, fork: forkWorker(), forgetHolders: () => this.#forgetHolders() };
    const member = new Member(place, this.#deps);
    this.#members.set(slot, member);
    const end = member.gone
      .then((reason) => this.#afterEnd(member, reason))
      .finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    return member;
  }

  async #afterEnd(member: Member<Settings>, reason: string): Promise<void> {
    const { slot, fork } = member;
    this.#members.delete(slot);
    const { log, onEnded } = this.#deps;
    onEnded(fork.id, this.#ready().length === 0);
    const isStopping = this.#stopping.signal.aborted;
    if (this.#isStarted && !isStopping) {
      const afterMs = this.#backoffOf(slot).next();
      log.error(
        { worker: slot, pid: fork.pid, reason, afterMs },
        'a worker has ended; another takes its place',
      );
      void this.#restart(slot, afterMs);
    }
    await this.#release(member);
  }

  async #restart(slot: number, afterMs: number): Promise<void> {
    try {
      await sleep(afterMs, undefined, { signal: this.#stopping.signal });
    } catch {
      return;
    }
    const { log } = this.#deps;
    const { ready, fork } = this.#fork(slot);
    ready.then(
      () => log.info({ worker: slot, pid: fork.pid }, 'a worker has started'),
      (error: unknown) => log.error({ worker: slot, err: error }, 'a worker could not start'),
    );
  }

  /** Nobody is charged for what a worker did not live to end, and nothing of it stays held. */
  async #release({ slot, session }: Member<Settings>): Promise<void> {
    const { store, clock, log } = this.#deps;
    const left = await session.left();
    while (left.requests.length > 0 || left.claims.length > 0) {
      try {
        const interrupted = await store.recover(clock.now(), left);
        log.warn({ worker: slot, interrupted }, 'released what a worker had left open');
        return;
      } catch (error) {
        log.error({ worker: slot, err: error }, 'what a worker had left open could not be released');
        // The next start of the server does it.
        if (this.#stopping.signal.aborted) return;
        await sleep(releaseRetryMs);
      }
    }
  }

  async #takeReload(
    member: Member<Settings>,
    settings: Settings,
  ): Promise<readonly Unavailable[] | undefined> {
    try {
      const unavailable = await member.worker.takeReload();
      member.settings = settings;
      return unavailable;
    } catch {
      // Whatever kept it from that, its successor begins with the new settings.
      member.fork.kill();
      return undefined;
    }
  }

  #backoffOf(slot: number): Backoff {
    const backoff = this.#backoffs.get(slot) ?? new Backoff();
    this.#backoffs.set(slot, backoff);
    return backoff;
  }

  #lookAfterAll(): void {
    for (const member of this.#ready()) void this.#lookAfter(member);
  }

  async #lookAfter(member: Member<Settings>): Promise<void> {
    try {
      await inTime(member.worker.whyNotReady(), silentMsMax);
    } catch {
      if (member.isGone) return;
      this.#deps.log.error(
        { worker: member.slot, silentMsMax },
        'a worker gives no sign of life and is killed',
      );
      member.fork.kill();
    }
  }
}
