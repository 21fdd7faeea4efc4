/** Random histories of the session keep its rules, and a session that breaks one is found. */
import { describe, expect, it } from 'vitest';
import {
  newSession,
  next,
  roomMs,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  windowMs,
} from '../../../src/core/realtime/session.ts';
import { Random } from '../../support/random.ts';
import { type Machine, playHistories } from '../../support/session-rules.ts';

const effectNames: readonly SessionEffect['do'][] = [
  ...(['started', 'stopped', 'committed', 'partial', 'cleared', 'commit_empty'] as const),
  ...(['reserve', 'listen', 'transcribe', 'complete', 'fail', 'end'] as const),
];
const eventKinds: readonly SessionEvent['kind'][] = [
  ...(['speech', 'audio', 'silence', 'commit', 'clear', 'partial'] as const),
  ...(['final', 'failed', 'granted', 'refused', 'finish', 'gone'] as const),
];

/** Changes the effects of each step. */
const changing =
  (change: (effect: SessionEffect) => readonly SessionEffect[]): Machine =>
  (state, event) => {
    const [after, effects] = next(state, event);
    return [after, effects.flatMap(change)];
  };

/** Shows the session another state than it has. */
const seeing =
  (change: (state: SessionState, event: SessionEvent) => SessionState): Machine =>
  (state, event) =>
    next(change(state, event), event);

const without = (name: string): Machine => changing((effect) => (effect.do === name ? [] : [effect]));
const twice = (name: string): Machine =>
  changing((effect) => (effect.do === name ? [effect, effect] : [effect]));
const ignoring =
  (kind: string): Machine =>
  (state, event) =>
    event.kind === kind ? [state, []] : next(state, event);

const mutants: Readonly<Record<string, Machine>> = {
  ...Object.fromEntries(effectNames.map((name) => [`leaves out \`${name}\``, without(name)])),
  ...Object.fromEntries(effectNames.map((name) => [`repeats \`${name}\``, twice(name)])),
  ...Object.fromEntries(eventKinds.map((kind) => [`ignores \`${kind}\``, ignoring(kind)])),
  'goes on after its end': seeing((state) => (state.phase === 'ended' ? { ...state, phase: 'live' } : state)),
  'opens a turn while it closes': seeing((state, { kind }) =>
    kind === 'speech' && state.phase === 'closing' ? { ...state, phase: 'live', open: undefined } : state,
  ),
  'opens a turn beside another': seeing((state, { kind }) =>
    kind === 'speech' ? { ...state, open: undefined } : state,
  ),
  'lets silence end a turn that the client commits': seeing((state, { kind }) =>
    kind === 'silence' && state.open ? { ...state, open: { ...state.open, isManual: false } } : state,
  ),
  'reserves a window while another is reserved': seeing((state, { kind }) =>
    kind === 'audio' && state.open ? { ...state, open: { ...state.open, isReserving: false } } : state,
  ),
  'reserves too late': (state, event) => {
    const [after, effects] = next(state, event);
    if (event.kind !== 'audio' || !after.open || roomMs(after) <= 0) return [after, effects];
    return [{ ...after, open: { ...after.open, isReserving: false } }, []];
  },
  'recognises what is not paid': seeing((state, { kind }) =>
    kind === 'refused' && state.open
      ? { ...state, open: { ...state.open, reservedMs: 1, audioMs: 1 } }
      : state,
  ),
  'drops what is paid': seeing((state, { kind }) =>
    kind === 'refused' && state.open ? { ...state, open: { ...state.open, reservedMs: 0 } } : state,
  ),
  'forgets how much it has heard': seeing((state, { kind }) =>
    kind === 'audio' && state.open ? { ...state, open: { ...state.open, audioMs: 0 } } : state,
  ),
  'gives a text to a turn that is open': seeing((state, event) =>
    event.kind === 'final' && state.open?.turn === event.turn
      ? { ...state, open: undefined, pending: [...state.pending, event.turn] }
      : state,
  ),
  'ends before its last text': seeing((state, { kind }) =>
    kind === 'finish' ? { ...state, pending: [] } : state,
  ),
  'reports what the client has dropped': changing((effect) =>
    effect.do === 'fail' ? [{ ...effect, isReported: true }] : [effect],
  ),
  'hides a failure': changing((effect) =>
    effect.do === 'fail' ? [{ ...effect, isReported: false }] : [effect],
  ),
  'forgives every commit': seeing((state) => ({ ...state, hasCommitted: true })),
  'forgives no commit': seeing((state) => ({ ...state, hasCommitted: false })),
};

describe('a session', () => {
  it('ends each turn once and itself once, with events in any order', () => {
    const cells = playHistories(next, 25_000, new Random(1));
    const places = ['live none idle', 'live none pending', 'live reserving idle', 'live reserving pending'];
    places.push('live open idle', 'live open pending', 'closing open idle', 'closing open pending');
    places.push(
      'closing reserving idle',
      'closing reserving pending',
      'ending none pending',
      'ended none idle',
    );
    for (const place of places) {
      for (const kind of eventKinds) {
        // Nothing is granted without an open turn.
        if (kind !== 'granted' || place.includes('reserving')) expect(cells).toContain(`${place} ${kind}`);
      }
    }
    expect(new Set([...cells].map((cell) => cell.split(' ').slice(0, 3).join(' ')))).toEqual(new Set(places));
  });

  it.each(Object.entries(mutants))('that %s is found', (_, mutant) => {
    expect(() => playHistories(mutant, 2_000, new Random(1))).toThrow();
  });

  it('forgives one commit after silence has ended the turn, and no other', () => {
    const events: readonly SessionEvent[] = [
      { kind: 'speech', atMs: 0, isManual: false },
      { kind: 'granted', turn: 1, ms: windowMs },
      { kind: 'audio', ms: 500, atMs: 500 },
      { kind: 'silence', atMs: 500 },
      { kind: 'commit' },
      { kind: 'commit' },
    ];
    let state = newSession;
    const effects = events.map((event) => {
      const [after, done] = next(state, event);
      state = after;
      return done.map((effect) => effect.do);
    });
    expect(effects.slice(3)).toEqual([['stopped', 'committed', 'transcribe'], [], ['commit_empty']]);
  });
});
