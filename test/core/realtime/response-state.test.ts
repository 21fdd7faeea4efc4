/** Random histories of a conversation's responses, with rules that hold after every step, and mutants that break one. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, it } from 'vitest';
import {
  nextResponse,
  noResponse,
  type ResponseEffect,
  type ResponseEvent,
} from '../../../src/core/realtime/response-state.ts';
import { Random } from '../../support/random.ts';

type Next = typeof nextResponse;

function randomEvent(random: Random): ResponseEvent {
  switch (random.below(random.onceIn(30) ? 9 : 8)) {
    case 0:
      return { kind: 'speech', interrupts: random.onceIn(2) };
    case 1:
      return { kind: 'committed' };
    case 2:
      return { kind: 'dropped' };
    case 3:
    case 4:
      return { kind: 'text', isDue: !random.onceIn(3) };
    case 5:
      return { kind: 'create' };
    case 6:
      return { kind: 'cancel' };
    case 7:
      return { kind: 'done' };
    default:
      return { kind: 'close' };
  }
}

/** Faster than `expect`, for a million steps. */
function must(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** Keeps the rules, from events and effects alone. */
class Referee {
  #open: { hasRun: boolean; isStopped: boolean } | undefined;
  #isSpeech = false;
  #pending = 0;
  #isDue = false;
  #isAsked = false;
  #isClosing = false;
  isClosed = false;

  step(event: ResponseEvent, effects: readonly ResponseEffect[]): void {
    must(!this.isClosed || effects.length === 0, 'nothing follows the end');
    if (this.isClosed) return;
    const before = this.#open && { ...this.#open };
    this.#note(event);
    for (const effect of effects) this.#check(effect, event);
    this.#checkEvent(event, effects, before);
    const isWaited = this.#isDue && !this.#isSpeech && this.#pending === 0;
    const isBusy = this.#open !== undefined || this.#isClosing;
    must(isBusy || !isWaited, 'a turn is answered');
    must(isBusy || !this.#isAsked, 'what was asked for begins');
    const isReady = this.#open !== undefined && !this.#open.hasRun && this.#pending === 0;
    must(!isReady, 'a response runs once all texts are known');
    must(
      this.isClosed === (this.#isClosing && this.#open === undefined),
      'a session closes without a response',
    );
  }

  #note(event: ResponseEvent): void {
    if (event.kind === 'speech') this.#isSpeech = true;
    if (event.kind === 'committed' || event.kind === 'dropped') this.#isSpeech = false;
    if (event.kind === 'committed') this.#pending++;
    if (event.kind === 'text') this.#pending = Math.max(0, this.#pending - 1);
    if (event.kind === 'text' && event.isDue) this.#isDue = true;
    if (event.kind === 'close') this.#isClosing = true;
  }

  #check(effect: ResponseEffect, event: ResponseEvent): void {
    const open = this.#open;
    must(!this.isClosed, 'the end is last');
    switch (effect.do) {
      case 'begin': {
        must(open === undefined, 'one response at a time');
        const isOwn = this.#isDue && !this.#isSpeech && this.#pending === 0;
        must(event.kind === 'create' || this.#isAsked || isOwn, 'a response has a cause');
        must(!this.#isClosing, 'no response begins at the end');
        this.#isDue = this.#isAsked = false;
        this.#open = { hasRun: false, isStopped: false };
        break;
      }
      case 'run':
        must(open?.hasRun === false && this.#pending === 0, 'it runs once');
        if (open) open.hasRun = true;
        break;
      case 'stop':
        must(open?.hasRun === true && !open.isStopped, 'it is stopped once');
        if (open) open.isStopped = true;
        break;
      case 'end':
        must(open !== undefined, 'it ends once');
        must(open?.hasRun === (effect.reason === undefined), 'what has not run has a reason');
        must(!open?.hasRun || event.kind === 'done', 'its records are durable');
        this.#open = undefined;
        break;
      case 'closed':
        must(this.#isClosing, 'the session closes');
        this.isClosed = true;
    }
  }

  #checkEvent(
    event: ResponseEvent,
    effects: readonly ResponseEffect[],
    before: { readonly hasRun: boolean; readonly isStopped: boolean } | undefined,
  ): void {
    const did = (name: ResponseEffect['do']) => effects.some((effect) => effect.do === name);
    const isActive = before !== undefined && !before.isStopped;
    const interrupts = event.kind === 'cancel' || (event.kind === 'speech' && event.interrupts);
    if (interrupts && isActive) must(did(before.hasRun ? 'stop' : 'end'), 'it is cancelled');
    else if (event.kind !== 'close') must(!did('stop'), 'nothing else cancels it');
    if (event.kind === 'cancel') must(did('refuse') === (before === undefined), 'there is one to cancel');
    if (event.kind !== 'create') return;
    if (before === undefined) must(did('begin'), 'it begins when asked');
    else if (isActive || this.#isAsked || this.#isClosing) must(did('refuse'), 'a second one is refused');
    else this.#isAsked = true;
  }
}

function play(next: Next, histories: number, cells?: Set<string>): void {
  const random = new Random(1);
  for (let history = 0; history < histories; history++) {
    let state = noResponse;
    const referee = new Referee();
    const step = (event: ResponseEvent) => {
      cells?.add(`${state.phase} ${event.kind}`);
      const [after, effects] = next(state, event);
      referee.step(event, effects);
      state = after;
    };
    for (let count = 0; count < 40; count++) step(randomEvent(random));
    step({ kind: 'close' });
    step({ kind: 'done' });
    must(referee.isClosed, 'every session closes');
  }
}

/** Each breaks one line of the function. */
const mutants: readonly (readonly [string, string])[] = [
  ["isSpeech: true }, 'turn_detected'", "isSpeech: false }, 'turn_detected'"],
  ['isSpeech: false, pending: state.pending + 1', 'isSpeech: false, pending: state.pending'],
  ['return goOn({ ...state, isSpeech: false });', 'return [{ ...state, isSpeech: false }, nothing];'],
  ['state.isDue || event.isDue', 'event.isDue'],
  ["if (state.phase === 'idle') return begin(state);", "if (state.phase !== 'running') return begin(state);"],
  ["if (state.phase === 'idle') return begin(state);", ''],
  ["state.phase !== 'cancelling' || state.isAsked", 'state.isAsked'],
  [
    "state.phase !== 'cancelling' || state.isAsked || state.isClosing",
    "state.phase !== 'cancelling' || state.isClosing",
  ],
  ["if (state.phase === 'idle') return [state, [{ do: 'refuse', why: 'none_active' }]];", ''],
  ["state.phase !== 'running' && state.phase !== 'cancelling'", "state.phase !== 'running'"],
  ["state.phase !== 'running' && state.phase !== 'cancelling'", "state.phase === 'idle'"],
  ["if (state.phase !== 'running') return [state, nothing];", ''],
  ["if (state.phase === 'waiting') return end(state, reason);", ''],
  ["phase: 'cancelling' }", "phase: 'running' }"],
  ["goOn({ ...state, phase: 'idle' })", "[{ ...state, phase: 'idle' }, nothing]"],
  ["phase: 'idle' }", "phase: 'waiting' }"],
  ["phase === 'waiting' && pending === 0", "phase === 'waiting'"],
  ["phase === 'waiting' && pending === 0", 'pending === 0'],
  ["if (phase !== 'idle') return [state, nothing];", ''],
  ["if (state.isClosing) return [{ ...state, phase: 'ended' }, [{ do: 'closed' }]];", ''],
  ['state.isDue && !state.isSpeech && pending === 0', 'state.isDue && pending === 0'],
  ['state.isDue && !state.isSpeech && pending === 0', 'state.isDue && !state.isSpeech'],
  ['state.isAsked || isReady', 'isReady'],
  ['isDue: false, isAsked: false })', 'isAsked: false })'],
  ["if (state.phase === 'ended') return [state, nothing];", ''],
];

const file = new URL('../../../src/core/realtime/response-state.ts', import.meta.url);
const source = stripTypeScriptTypes(readFileSync(file, 'utf8'));

/** @param line with the parts of the mutant; white space does not count */
async function mutated([from, to]: readonly [string, string]): Promise<Next> {
  const at = source.indexOf(from);
  if (at < 0) throw new Error(`the function has no ${from}`);
  const text = source.slice(0, at) + to + source.slice(at + from.length);
  const module: { nextResponse: Next } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  return module.nextResponse;
}

describe('the responses of a conversation', () => {
  it('begin, run and end once each, with events in any order', () => {
    const cells = new Set<string>();
    play(nextResponse, 25_000, cells);
    const kinds = ['speech', 'committed', 'dropped', 'text', 'create', 'cancel', 'done', 'close'];
    for (const place of ['idle', 'waiting', 'running', 'cancelling', 'ended']) {
      for (const kind of kinds) expect(cells).toContain(`${place} ${kind}`);
    }
  });

  it.each(mutants)('would not do so without: %s -> %s', async (from, to) => {
    const next = await mutated([from, to]);
    expect(() => play(next, 2_000)).toThrow();
  });
});
