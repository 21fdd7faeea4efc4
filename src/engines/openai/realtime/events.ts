/** The events of OpenAI's Realtime API that matter for transcription. */
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from '../../../core/values/json.ts';
import type { UpstreamFormat } from '../../../media/raw-audio.ts';
import { readWhole } from '../chat/json.ts';
import { malformedResponse } from '../errors.ts';
import type { UpstreamModel } from '../settings.ts';

export type UpstreamEvent =
  | { readonly kind: 'created' | 'updated' | 'cleared' }
  /** `body` is the event's JSON. `id` is that of our event, if it is the cause. */
  | { readonly kind: 'error'; readonly id: string | undefined; readonly body: string }
  | UpstreamTurnEvent;

export type UpstreamTurnEvent =
  | { readonly kind: 'committed'; readonly item: string }
  | { readonly kind: 'delta' | 'completed'; readonly item: string; readonly text: string }
  | { readonly kind: 'failed'; readonly item: string; readonly body: string };

const transcription = 'conversation.item.input_audio_transcription';

/** @returns undefined for an event that does not matter @throws `upstream_error` for one that is malformed */
export function upstreamEvent(body: string): UpstreamEvent | undefined {
  const event = parsed(body);
  switch (event['type']) {
    case 'session.created':
    case 'transcription_session.created':
      return { kind: 'created' };
    case 'session.updated':
    case 'transcription_session.updated':
      return { kind: 'updated' };
    case 'input_audio_buffer.cleared':
      return { kind: 'cleared' };
    case 'input_audio_buffer.committed':
      return { kind: 'committed', item: textOf(event, 'item_id') };
    case `${transcription}.delta`:
      return { kind: 'delta', item: textOf(event, 'item_id'), text: textOf(event, 'delta') };
    case `${transcription}.completed`:
      return { kind: 'completed', item: textOf(event, 'item_id'), text: textOf(event, 'transcript') };
    case `${transcription}.failed`:
      return { kind: 'failed', item: textOf(event, 'item_id'), body };
    case 'error':
      return { kind: 'error', id: causeOf(event['error']), body };
    default:
      return undefined;
  }
}

const formats: Readonly<Record<UpstreamFormat, JsonObject>> = {
  pcm: { type: 'audio/pcm', rate: 24_000 },
  pcmu: { type: 'audio/pcmu' },
  pcma: { type: 'audio/pcma' },
};

/** Without turn detection, as the turns are ours. */
export function settingsEvent({ model, settings }: UpstreamModel, language: string | undefined): JsonObject {
  const transcription = { model, ...(language !== undefined && { language }) };
  const input = { format: formats[settings.realtimeFormat], transcription, turn_detection: null };
  return { type: 'session.update', session: { type: 'transcription', audio: { input } } };
}

function parsed(body: string): JsonObject {
  const event = readWhole(body);
  if (isObject(event)) return event;
  throw malformedResponse('an event is not an object');
}

function causeOf(error: unknown): string | undefined {
  const id = isObject(error) ? error['event_id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

function textOf(event: JsonObject, name: string): string {
  const text = event[name];
  if (typeof text === 'string') return text;
  throw malformedResponse(`an event without the text \`${name}\``);
}
