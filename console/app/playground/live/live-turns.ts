/** What is said in a live session, as the server's events tell it: turns of the person and, in a conversation, of the model. */
import type { ServerEvent } from './realtime.ts';

export interface LiveTurn {
  readonly item: string;
  readonly side: 'person' | 'model';
  readonly state: 'open' | 'ending' | 'whole' | 'failed';
  /** While a person speaks, the words that will not change any more. */
  readonly text: string;
  readonly problem?: string;
  readonly seconds?: number;
  readonly isInterrupted?: boolean;
  /** The id of the usage record. */
  readonly request?: string;
  readonly units?: bigint;
  readonly cost?: bigint;
}

const transcription = 'conversation.item.input_audio_transcription';

export function withEvent(turns: readonly LiveTurn[], event: ServerEvent): readonly LiveTurn[] {
  if (event.response !== undefined) return withResponse(turns, event.response);
  const item = event.item_id ?? event.item?.id;
  if (item === undefined) return turns;
  const change = changeBy(event, turns.find((turn) => turn.item === item)?.text ?? '');
  return change === undefined ? turns : changed(turns, item, change);
}

/** Changes a turn, or adds it if it is new. */
export function changed(
  turns: readonly LiveTurn[],
  item: string,
  change: Partial<LiveTurn>,
): readonly LiveTurn[] {
  const isKnown = turns.some((turn) => turn.item === item);
  const fresh: LiveTurn = { item, side: 'person', state: 'open', text: '' };
  const all = isKnown ? turns : [...turns, fresh];
  return all.map((turn) => (turn.item === item ? { ...turn, ...change } : turn));
}

function changeBy(event: ServerEvent, text: string): Partial<LiveTurn> | undefined {
  const { request_id: request, usage, delta = '', item } = event;
  const ofRequest = request !== undefined && { request };
  switch (event.type) {
    case 'input_audio_buffer.speech_started':
      return { state: 'open' };
    case 'input_audio_buffer.committed':
      return { state: 'ending' };
    case `${transcription}.delta`:
      return { text: text + delta };
    case `${transcription}.completed`:
      return {
        state: 'whole',
        text: event.transcript ?? '',
        ...(usage?.seconds !== undefined && { seconds: usage.seconds }),
        ...ofRequest,
      };
    case `${transcription}.failed`:
      return { state: 'failed', problem: event.error?.message ?? 'The turn has no text.', ...ofRequest };
    case 'response.output_item.added':
      return item?.type === 'message' ? { side: 'model', state: 'open' } : undefined;
    case 'response.output_audio_transcript.delta':
    case 'response.output_text.delta':
      return { text: text + delta };
    case 'response.output_item.done':
      return item?.type === 'message' ? { state: 'whole' } : undefined;
    default:
      return undefined;
  }
}

/** A response that is done has the id of its record, and an error if it failed. It may have failed before its first word. */
function withResponse(
  turns: readonly LiveTurn[],
  { id, status, output, request_id, status_details }: NonNullable<ServerEvent['response']>,
): readonly LiveTurn[] {
  if (status === 'in_progress') return turns;
  const item = output.find(({ type }) => type === 'message')?.id ?? (status === 'failed' ? id : undefined);
  if (item === undefined) return turns;
  return changed(turns, item, {
    side: 'model',
    state: status === 'failed' ? 'failed' : 'whole',
    ...(status === 'failed' && { problem: status_details?.error?.message ?? 'There is no answer.' }),
    ...(request_id !== undefined && { request: request_id }),
  });
}

/** Whether a turn has not got its text yet. */
export const isRunning = ({ state }: LiveTurn): boolean => state === 'open' || state === 'ending';
