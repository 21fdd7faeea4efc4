/**
 * The responses of a conversation as one pure, total function, as `session.ts` is for its turns. At most one response is open. It
 * begins, runs once all texts of the user are known, and ends exactly once.
 */

export interface ResponseState {
  /** A waiting response begins to run once all texts are known. One that is cancelling has run, and waits for its records. */
  readonly phase: 'idle' | 'waiting' | 'running' | 'cancelling' | 'ended';
  /** Whether somebody speaks. */
  readonly isSpeech: boolean;
  /** Committed turns without a text yet. */
  readonly pending: number;
  /** Whether a turn has not been answered. Its response begins when nobody speaks, all texts are known and no other is open. */
  readonly isDue: boolean;
  /** Whether the client has asked for a response that begins when the cancelled one has ended. */
  readonly isAsked: boolean;
  readonly isClosing: boolean;
}

export const noResponse: ResponseState = {
  phase: 'idle',
  isSpeech: false,
  pending: 0,
  isDue: false,
  isAsked: false,
  isClosing: false,
};

export type ResponseEvent =
  /** Somebody begins to speak. */
  | { readonly kind: 'speech'; readonly interrupts: boolean }
  /** A turn was committed. Its text follows. */
  | { readonly kind: 'committed' }
  /** A turn ended without having been committed. */
  | { readonly kind: 'dropped' }
  /** A committed turn has its text, or has failed. */
  | { readonly kind: 'text'; readonly isDue: boolean }
  /** The client asks for a response. */
  | { readonly kind: 'create' }
  | { readonly kind: 'cancel' }
  /** The response that ran has ended, with its records. */
  | { readonly kind: 'done' }
  /** The session ends. */
  | { readonly kind: 'close' };

export type CancelReason = 'turn_detected' | 'client_cancelled';

/** Why an event of the client has no effect: it asks for a second response, or cancels none. */
export type ResponseRefusal = 'active' | 'none_active';

export type ResponseEffect =
  /** All texts are known at `run`. */
  | { readonly do: 'begin' | 'run' }
  /** Stops a response that runs. `done` follows. */
  | { readonly do: 'stop'; readonly reason: CancelReason }
  /** @param reason of a response that has not run; undefined for one that has */
  | { readonly do: 'end'; readonly reason: CancelReason | undefined }
  | { readonly do: 'refuse'; readonly why: ResponseRefusal }
  /** Last. */
  | { readonly do: 'closed' };

type Step = readonly [ResponseState, readonly ResponseEffect[]];

const nothing: readonly ResponseEffect[] = [];

export function nextResponse(state: ResponseState, event: ResponseEvent): Step {
  if (state.phase === 'ended') return [state, nothing];
  switch (event.kind) {
    case 'speech':
      return event.interrupts
        ? cancel({ ...state, isSpeech: true }, 'turn_detected')
        : [{ ...state, isSpeech: true }, nothing];
    case 'committed':
      return [{ ...state, isSpeech: false, pending: state.pending + 1 }, nothing];
    case 'dropped':
      return goOn({ ...state, isSpeech: false });
    case 'text': {
      const isDue = state.isDue || event.isDue;
      return goOn({ ...state, pending: Math.max(0, state.pending - 1), isDue });
    }
    case 'create':
      return createByClient(state);
    case 'cancel':
      if (state.phase === 'idle') return [state, [{ do: 'refuse', why: 'none_active' }]];
      return cancel(state, 'client_cancelled');
    case 'done':
      if (state.phase !== 'running' && state.phase !== 'cancelling') return [state, nothing];
      return end(state, undefined);
    case 'close': {
      const [closing, effects] = cancel({ ...state, isClosing: true }, 'client_cancelled');
      return and(goOn(closing), effects);
    }
  }
}

function createByClient(state: ResponseState): Step {
  if (state.phase === 'idle') return begin(state);
  if (state.phase !== 'cancelling' || state.isAsked || state.isClosing) {
    return [state, [{ do: 'refuse', why: 'active' }]];
  }
  return [{ ...state, isAsked: true }, nothing];
}

/** A response answers all turns so far. */
function begin(state: ResponseState): Step {
  return and(goOn({ ...state, phase: 'waiting', isDue: false, isAsked: false }), [{ do: 'begin' }]);
}

function cancel(state: ResponseState, reason: CancelReason): Step {
  if (state.phase === 'waiting') return end(state, reason);
  if (state.phase !== 'running') return [state, nothing];
  return [{ ...state, phase: 'cancelling' }, [{ do: 'stop', reason }]];
}

function end(state: ResponseState, reason: CancelReason | undefined): Step {
  return and(goOn({ ...state, phase: 'idle' }), [{ do: 'end', reason }]);
}

/** Begins or runs the response that was waiting for this state. */
function goOn(state: ResponseState): Step {
  const { phase, pending } = state;
  if (phase === 'waiting' && pending === 0) return [{ ...state, phase: 'running' }, [{ do: 'run' }]];
  if (phase !== 'idle') return [state, nothing];
  if (state.isClosing) return [{ ...state, phase: 'ended' }, [{ do: 'closed' }]];
  const isReady = state.isDue && !state.isSpeech && pending === 0;
  return state.isAsked || isReady ? begin(state) : [state, nothing];
}

/** @param effects before those of the step */
function and([state, after]: Step, effects: readonly ResponseEffect[]): Step {
  return [state, [...effects, ...after]];
}
