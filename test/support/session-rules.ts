/** Random histories of a session as a pure function, with rules that hold after every step and at its end. */
import {
  aheadMs,
  type next as machine,
  newSession,
  roomMs,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  turnMsMax,
  windowMs,
} from '../../src/core/realtime/session.ts';
import { ParleyError } from '../../src/core/values/errors.ts';
import type { Random } from './random.ts';

export type Machine = typeof machine;
type Step = ReturnType<Machine>;

const error = new ParleyError('fair_use_limit_reached');
const left = new ParleyError('request_cancelled');

type Maker = (state: SessionState, random: Random) => SessionEvent;

const anyTurn = (state: SessionState, random: Random) => random.between(1, state.turns + 1);
/** Audio in the amounts of the runner: never more than is reserved. */
const addable = (state: SessionState, random: Random) => Math.min(roomMs(state), 1 + random.below(3_000));

const makers: readonly Maker[] = [
  (state, random) => ({ kind: 'audio', ms: addable(state, random), atMs: 0 }),
  (state, random) => ({ kind: 'audio', ms: addable(state, random), atMs: 0 }),
  () => ({ kind: 'speech', atMs: 0, isManual: false }),
  () => ({ kind: 'speech', atMs: 0, isManual: true }),
  () => ({ kind: 'silence', atMs: 0 }),
  () => ({ kind: 'commit' }),
  () => ({ kind: 'clear', error: left }),
  (state, random) => ({ kind: 'partial', turn: anyTurn(state, random) }),
  (state, random) => ({ kind: 'final', turn: anyTurn(state, random) }),
  (state, random) => ({ kind: 'failed', turn: anyTurn(state, random), error }),
  ({ open }, random) =>
    open?.isReserving
      ? { kind: 'granted', turn: open.turn, ms: open.reservedMs + 1_000 * (1 + random.below(10)) }
      : { kind: 'commit' },
  (state, random) => ({ kind: 'refused', turn: random.below(2) ? anyTurn(state, random) : undefined, error }),
  (_, random) => ({ kind: 'finish', reason: random.below(2) ? error : undefined }),
  () => ({ kind: 'gone', error: left }),
];
/** Events of these kinds are rare, so that most histories are long. */
const rare: ReadonlySet<string> = new Set(['refused', 'finish', 'gone']);

function randomEvent(state: SessionState, random: Random): SessionEvent {
  for (;;) {
    const event = random.pick(makers)(state, random);
    if (!rare.has(event.kind) || random.onceIn(12)) return event;
  }
}

/** The cell of the table: the state of the session when an event arrives. */
function cellOf({ phase, open, pending }: SessionState, { kind }: SessionEvent): string {
  const turn = open === undefined ? 'none' : open.isReserving ? 'reserving' : 'open';
  return `${phase} ${turn} ${pending.length > 0 ? 'pending' : 'idle'} ${kind}`;
}

function turnsOf(effects: readonly SessionEffect[], ...names: readonly SessionEffect['do'][]): number[] {
  return effects.flatMap((effect) => ('turn' in effect && names.includes(effect.do) ? effect.turn : []));
}

/** Faster than `expect`, for a million steps. */
function must(condition: boolean, what: string, ...facts: readonly unknown[]): void {
  if (!condition) throw new Error(`${what}: ${JSON.stringify(facts)}`);
}

/** The rules for any event. */
function checkState(was: SessionState, { kind }: SessionEvent, [state, effects]: Step): void {
  const { open, pending, phase } = state;
  must(was.phase !== 'ended' || (state === was && effects.length === 0), 'nothing follows the end', was);
  must(
    phase === 'live' || phase === 'closing' || open === undefined,
    'no turn is open that takes no audio',
    state,
  );
  must(phase !== 'closing' || open !== undefined, 'a session closes for a turn', state);
  must(phase !== 'ending' || pending.length > 0, 'a session ends with its last turn', state);
  must(phase !== 'ended' || pending.length === 0, 'a session ends after its turns', state);
  const names = effects.map((effect) => `${effect.do} ${'turn' in effect ? effect.turn : ''}`);
  must(new Set(names).size === names.length, 'one effect of a kind', names);
  for (const effect of effects) {
    if (effect.do !== 'fail') continue;
    must(
      effect.isReported === (kind !== 'clear' && kind !== 'gone'),
      'a client knows what it has dropped',
      effect,
    );
  }
  if (open === undefined) return;
  const isCovered = open.isReserving || open.audioMs + aheadMs <= open.reservedMs;
  must(isCovered || kind !== 'audio' || phase === 'closing', 'a window is reserved ahead', open);
  must(open.audioMs < turnMsMax, 'a turn is not too long', open);
  const isOther = was.open?.turn !== open.turn;
  must(
    !isOther || (kind === 'speech' && was.open === undefined && was.phase === 'live'),
    'one turn is open',
    was,
  );
  for (const effect of effects) {
    if (effect.do !== 'reserve') continue;
    must(effect.ms === open.reservedMs + windowMs, 'a window is reserved', effect);
    must(isOther || !was.open?.isReserving, 'one window is reserved at a time', was);
  }
}

/** The effects that an event must have in a session that has not ended. Any others are left to the other rules. */
function effectsOf(
  { phase, open, pending, hasCommitted }: SessionState,
  event: SessionEvent,
): string[] | undefined {
  const isKnown = 'turn' in event && (event.turn === open?.turn || pending.includes(event.turn ?? 0));
  switch (event.kind) {
    case 'speech':
      if (phase !== 'live' || open) return [];
      return ['listen', 'reserve', ...(event.isManual ? [] : ['started'])];
    case 'silence':
      return open && !open.isManual ? ['stopped', 'committed', 'transcribe'] : [];
    case 'commit':
      if (open) return ['committed', 'transcribe'];
      return phase === 'live' && !hasCommitted ? ['commit_empty'] : [];
    case 'clear':
      return phase === 'ending' ? [] : [...(open ? ['fail'] : []), 'cleared'];
    case 'partial':
      return isKnown ? ['partial'] : [];
    case 'final':
      return isKnown && event.turn !== open?.turn ? ['complete'] : [];
    case 'failed':
      return isKnown ? ['fail'] : [];
    case 'granted':
      return [];
    case 'gone':
      return [...pending, ...(open ? [open.turn] : [])].map(() => 'fail');
    default:
      return undefined;
  }
}

/** The rules for the event. */
function checkEffects(was: SessionState, event: SessionEvent, [state, effects]: Step): void {
  const names = effects.map((effect) => effect.do).filter((name) => name !== 'end');
  const expected = effectsOf(was, event);
  must(
    expected === undefined || String(names) === String(expected),
    `the effects of ${event.kind}`,
    names,
    was,
  );
  const { open, phase } = state;
  const isSameTurn = open !== undefined && open.turn === was.open?.turn;
  if (event.kind === 'audio' && isSameTurn) {
    must(open.audioMs === (was.open?.audioMs ?? 0) + event.ms, 'audio is heard', was, state);
    const isReserved = phase === 'live' || open.isReserving || roomMs(state) > 0;
    must(isReserved, 'a session closes once the reserved audio is heard', state);
  }
  if (event.kind === 'granted' && isSameTurn && event.turn === open.turn)
    must(open.reservedMs === event.ms && !open.isReserving, 'a window is granted', open);
  const { reservedMs = 0 } = was.open ?? {};
  const isAboutSession =
    event.kind === 'refused' && (event.turn === undefined || event.turn === was.open?.turn);
  if (isAboutSession)
    must(phase !== 'live' && state.reason !== undefined, 'a refusal ends the session', state);
  if (event.kind === 'finish') must(phase !== 'live' && open === undefined, 'a session ends its turn', state);
  if (event.kind === 'gone') must(phase === 'ended', 'a session without a client has ended', state);
  const isForced = event.kind === 'refused' || (event.kind === 'finish' && state.reason !== undefined);
  if (isForced && names.includes('committed'))
    must(reservedMs > 0, 'what is not paid is not recognised', was);
  if (isForced && was.open && open === undefined && reservedMs > 0)
    must(names.includes('committed'), 'what is paid is recognised', was);
}

/** A whole history: it ends once, and each of its turns once. */
function checkHistory(effects: readonly SessionEffect[]): void {
  for (const name of [
    'listen',
    'started',
    'stopped',
    'committed',
    'transcribe',
    'complete',
    'fail',
  ] as const) {
    const turns = turnsOf(effects, name);
    must(new Set(turns).size === turns.length, `one ${name} a turn`, effects);
  }
  const opened = String(turnsOf(effects, 'listen'));
  const byNumber = (turns: readonly number[]) => String([...new Set(turns)].sort((a, b) => a - b));
  must(byNumber(turnsOf(effects, 'complete', 'fail')) === opened, 'each turn is recorded', effects);
  must(byNumber(turnsOf(effects, 'reserve')) === opened, 'each turn reserves', effects);
  must(
    String(turnsOf(effects, 'committed')) === String(turnsOf(effects, 'transcribe')),
    'each committed turn gets its text',
    effects,
  );
  const ended = new Set<number>();
  const committed = new Set<number>();
  for (const effect of effects) {
    if (effect.do === 'committed') committed.add(effect.turn);
    if (effect.do === 'partial') must(!ended.has(effect.turn), 'no text follows the end of a turn', effects);
    if (effect.do === 'complete') must(committed.has(effect.turn), 'only committed turns complete', effects);
    if (effect.do === 'complete' || effect.do === 'fail') {
      must(!ended.has(effect.turn), 'a turn ends once', effects);
      ended.add(effect.turn);
    }
  }
  const ends = effects.filter(({ do: name }) => name === 'end').length;
  must(ends === 1 && effects.at(-1)?.do === 'end', 'the session ends once, last', effects);
}

const stepsEach = 40;

/**
 * Plays histories of random events.
 * @returns the cells of the table that they reached
 * @throws if a rule is broken
 */
export function playHistories(next: Machine, histories: number, random: Random): ReadonlySet<string> {
  const cells = new Set<string>();
  for (let history = 0; history < histories; history++) {
    let state = newSession;
    const all: SessionEffect[] = [];
    for (let step = 0; step <= stepsEach; step++) {
      const event: SessionEvent =
        step < stepsEach ? randomEvent(state, random) : { kind: 'gone', error: left };
      cells.add(cellOf(state, event));
      const result = next(state, event);
      checkState(state, event, result);
      if (state.phase !== 'ended') checkEffects(state, event, result);
      state = result[0];
      all.push(...result[1]);
    }
    checkHistory(all);
  }
  return cells;
}
