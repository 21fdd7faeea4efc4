/**
 * A session of live speech as one pure, total function: a state and an event give the next state and the effects, in order. It
 * knows no clock, no wire and no promise.
 *
 * A turn is the speech between two silences, or between two commits of the client. It is a request of its own: it reserves
 * audio in windows, ahead of what is spoken, and has one record. A turn is open, then pending until its text is known.
 */
import type { ParleyError } from '../values/errors.ts';

/** Number of a turn in the session, from 1. */
export type TurnNumber = number;

export interface SessionState {
  /**
   * A closing session accepts the rest of the audio that its open turn has reserved. An ending one accepts none, and
   * waits for its pending turns.
   */
  readonly phase: 'live' | 'closing' | 'ending' | 'ended';
  readonly open: OpenTurn | undefined;
  /** Committed turns without a text yet, oldest first. */
  readonly pending: readonly TurnNumber[];
  readonly turns: number;
  /**
   * Whether silence or the length limit has committed a turn since the client's last commit. Then the client's next
   * commit may come too late.
   */
  readonly hasCommitted: boolean;
  /** The reason why the session ends; undefined if the client ended it. */
  readonly reason: ParleyError | undefined;
}

export interface OpenTurn {
  readonly turn: TurnNumber;
  /** Whether the client commits, instead of silence. */
  readonly isManual: boolean;
  /** Milliseconds of audio in the turn, and milliseconds reserved. */
  readonly audioMs: number;
  readonly reservedMs: number;
  readonly isReserving: boolean;
}

export const newSession: SessionState = {
  phase: 'live',
  open: undefined,
  pending: [],
  turns: 0,
  hasCommitted: false,
  reason: undefined,
};

/** Times with the name `atMs` are milliseconds from the session's first sample. */
export type SessionEvent =
  /** Speech begins, or the first audio of a turn that the client will commit. */
  | { readonly kind: 'speech'; readonly atMs: number; readonly isManual: boolean }
  /** Audio was added to the open turn. */
  | { readonly kind: 'audio'; readonly ms: number; readonly atMs: number }
  | { readonly kind: 'silence'; readonly atMs: number }
  /** @param eventId the client's id of its event, for the answer */
  | { readonly kind: 'commit'; readonly eventId?: string | undefined }
  | { readonly kind: 'clear'; readonly error: ParleyError }
  | { readonly kind: 'partial'; readonly turn: TurnNumber }
  | { readonly kind: 'final'; readonly turn: TurnNumber }
  | { readonly kind: 'failed'; readonly turn: TurnNumber; readonly error: ParleyError }
  /** This many milliseconds of the turn are now reserved. */
  | { readonly kind: 'granted'; readonly turn: TurnNumber; readonly ms: number }
  /** The turn must end or, without a turn, the session. */
  | { readonly kind: 'refused'; readonly turn: TurnNumber | undefined; readonly error: ParleyError }
  /** No more audio follows: the client has ended its side, or the server stops. */
  | { readonly kind: 'finish'; readonly reason: ParleyError | undefined }
  /** The client has left or, with another error than `request_cancelled`, the server waits no longer. */
  | { readonly kind: 'gone'; readonly error: ParleyError };

export type SessionEffect =
  | { readonly do: 'started' | 'stopped'; readonly turn: TurnNumber; readonly atMs: number }
  | { readonly do: 'committed'; readonly turn: TurnNumber }
  | { readonly do: 'partial'; readonly turn: TurnNumber }
  | { readonly do: 'cleared' }
  | { readonly do: 'commit_empty'; readonly eventId: string | undefined }
  /** Reserves audio of the turn up to `ms`, after the key, the plan and the limits are checked again. */
  | { readonly do: 'reserve'; readonly turn: TurnNumber; readonly ms: number }
  /** Leases a recogniser for a new turn. */
  | { readonly do: 'listen'; readonly turn: TurnNumber; readonly atMs: number }
  /** Makes the recogniser finish the text of the turn. */
  | { readonly do: 'transcribe'; readonly turn: TurnNumber }
  /** Settles the turn's record, then sends its text. */
  | { readonly do: 'complete'; readonly turn: TurnNumber }
  /**
   * Returns the recogniser, and voids the turn's record with the error. Reports it to the client, unless that has
   * cleared the turn or left.
   */
  | {
      readonly do: 'fail';
      readonly turn: TurnNumber;
      readonly error: ParleyError;
      readonly isReported: boolean;
    }
  /** The last effect: closes the wire once all records are durable. */
  | { readonly do: 'end'; readonly reason: ParleyError | undefined };

/** Audio is reserved in windows of this length. */
export const windowMs = 10_000;
/** A window is reserved this long before the previous one is used up, so that speech does not wait for the database. */
export const aheadMs = 3_000;
/** The longest turn. Longer speech is divided. */
export const turnMsMax = 60_000;

type Step = readonly [SessionState, readonly SessionEffect[]];

const nothing: readonly SessionEffect[] = [];

export function next(state: SessionState, event: SessionEvent): Step {
  if (state.phase === 'ended') return [state, nothing];
  switch (event.kind) {
    case 'speech':
      return begin(state, event);
    case 'audio':
      return addAudio(state, event);
    case 'silence':
      return state.open && !state.open.isManual ? stop(state, state.open, event.atMs) : [state, nothing];
    case 'commit':
      return commitByClient(state, event.eventId);
    case 'clear':
      return clear(state, event.error);
    case 'partial':
      return [state, isKnown(state, event.turn) ? [{ do: 'partial', turn: event.turn }] : nothing];
    case 'final':
      return finishTurn(state, event.turn, { do: 'complete', turn: event.turn });
    case 'failed':
      return fail(state, event.turn, event.error);
    case 'granted':
      return grant(state, event.turn, event.ms);
    case 'refused':
      return refuse(state, event.turn, event.error);
    case 'finish':
      return finish({ ...state, reason: state.reason ?? event.reason });
    case 'gone':
      return leave(state, event.error);
  }
}

export function takesAudio({ phase }: SessionState): boolean {
  return phase === 'live' || phase === 'closing';
}

/** Milliseconds of audio that the open turn may still take before its next window is reserved; 0 without a turn. */
export function roomMs({ open }: SessionState): number {
  return open ? open.reservedMs - open.audioMs : 0;
}

function begin(state: SessionState, { atMs, isManual }: { atMs: number; isManual: boolean }): Step {
  if (state.phase !== 'live' || state.open) return [state, nothing];
  const turn = state.turns + 1;
  const open: OpenTurn = { turn, isManual, audioMs: 0, reservedMs: 0, isReserving: true };
  const effects: SessionEffect[] = [
    { do: 'listen', turn, atMs },
    { do: 'reserve', turn, ms: windowMs },
  ];
  if (!isManual) effects.push({ do: 'started', turn, atMs });
  return [{ ...state, open, turns: turn }, effects];
}

function addAudio(state: SessionState, { ms, atMs }: { ms: number; atMs: number }): Step {
  if (state.open === undefined) return [state, nothing];
  const open = { ...state.open, audioMs: state.open.audioMs + ms };
  const taken = { ...state, open };
  if (open.audioMs >= turnMsMax) return stop(taken, open, atMs);
  if (state.phase === 'closing') return closeIfWhole(taken);
  if (open.isReserving || open.audioMs + aheadMs <= open.reservedMs) return [taken, nothing];
  const wanted: SessionEffect = { do: 'reserve', turn: open.turn, ms: open.reservedMs + windowMs };
  return [{ ...taken, open: { ...open, isReserving: true } }, [wanted]];
}

function grant(state: SessionState, turn: TurnNumber, ms: number): Step {
  if (state.open?.turn !== turn) return [state, nothing];
  return [{ ...state, open: { ...state.open, reservedMs: ms, isReserving: false } }, nothing];
}

/** Recognises the reserved audio to its end, then ends the session. */
function refuse(state: SessionState, turn: TurnNumber | undefined, error: ParleyError): Step {
  if (turn !== undefined && state.open?.turn !== turn) return [state, nothing];
  const reason = state.reason ?? error;
  if (state.open === undefined) return finish({ ...state, reason });
  const isReserving = turn === undefined && state.open.isReserving;
  return closeIfWhole({ ...state, phase: 'closing', reason, open: { ...state.open, isReserving } });
}

function closeIfWhole(state: SessionState): Step {
  const { open } = state;
  const isWhole = open === undefined || (!open.isReserving && roomMs(state) <= 0);
  return isWhole ? finish(state) : [state, nothing];
}

/** Ends the turn by silence, or because it is as long as a turn may be. */
function stop(state: SessionState, open: OpenTurn, atMs: number): Step {
  const stopped: SessionEffect = { do: 'stopped', turn: open.turn, atMs };
  const [committed, effects] = commit({ ...state, hasCommitted: true }, open);
  return [committed, open.isManual ? effects : [stopped, ...effects]];
}

function commit(state: SessionState, { turn }: OpenTurn): Step {
  const committed = { ...state, open: undefined, pending: [...state.pending, turn] };
  const effects: readonly SessionEffect[] = [
    { do: 'committed', turn },
    { do: 'transcribe', turn },
  ];
  return withoutTurn(committed, effects);
}

/** A closing session ends with its open turn. */
function withoutTurn(state: SessionState, effects: readonly SessionEffect[]): Step {
  return state.phase === 'closing' ? endIfDone({ ...state, phase: 'ending' }, effects) : [state, effects];
}

/** A commit just after silence has committed the turn is not an error, as the client could not know. */
function commitByClient(state: SessionState, eventId: string | undefined): Step {
  if (state.open) return commit({ ...state, hasCommitted: false }, state.open);
  if (state.phase !== 'live') return [state, nothing];
  const empty: SessionEffect = { do: 'commit_empty', eventId };
  return [{ ...state, hasCommitted: false }, state.hasCommitted ? nothing : [empty]];
}

function clear(state: SessionState, error: ParleyError): Step {
  if (state.phase === 'ending') return [state, nothing];
  const { open } = state;
  const effects: SessionEffect[] = [];
  if (open) effects.push({ do: 'fail', turn: open.turn, error, isReported: false });
  effects.push({ do: 'cleared' });
  return withoutTurn({ ...state, open: undefined, hasCommitted: false }, effects);
}

function isKnown({ open, pending }: SessionState, turn: TurnNumber): boolean {
  return open?.turn === turn || pending.includes(turn);
}

/** A recogniser can fail while the turn is still open. */
function fail(state: SessionState, turn: TurnNumber, error: ParleyError): Step {
  const failed: SessionEffect = { do: 'fail', turn, error, isReported: true };
  if (state.open?.turn !== turn) return finishTurn(state, turn, failed);
  return withoutTurn({ ...state, open: undefined, hasCommitted: true }, [failed]);
}

function finishTurn(state: SessionState, turn: TurnNumber, last: SessionEffect): Step {
  if (!state.pending.includes(turn)) return [state, nothing];
  const pending = state.pending.filter((other) => other !== turn);
  return endIfDone({ ...state, pending }, [last]);
}

/** Commits an open turn, so that the last words are not lost. A turn without reserved audio has none. */
function finish(state: SessionState): Step {
  const { open, reason } = state;
  if (open === undefined) return endIfDone({ ...state, phase: 'ending' }, nothing);
  const closing: SessionState = { ...state, phase: 'closing' };
  if (open.reservedMs > 0 || reason === undefined) return commit(closing, open);
  const dropped: SessionEffect = { do: 'fail', turn: open.turn, error: reason, isReported: true };
  return withoutTurn({ ...closing, open: undefined }, [dropped]);
}

function endIfDone(state: SessionState, effects: readonly SessionEffect[]): Step {
  if (state.phase !== 'ending' || state.pending.length > 0) return [state, effects];
  return [{ ...state, phase: 'ended' }, [...effects, { do: 'end', reason: state.reason }]];
}

function leave(state: SessionState, error: ParleyError): Step {
  const turns = state.open ? [...state.pending, state.open.turn] : state.pending;
  const isReported = error.code !== 'request_cancelled';
  const dropped = turns.map((turn): SessionEffect => ({ do: 'fail', turn, error, isReported }));
  const ended: SessionState = { ...state, phase: 'ended', open: undefined, pending: [], reason: error };
  return [ended, [...dropped, { do: 'end', reason: error }]];
}
