/** The events of a conversation: those of its client, and those for it. */

import type { TokenUsage } from '../../core/entities/usage.ts';
import type { Conversation } from '../../core/realtime/conversation.ts';
import type { History, Item } from '../../core/realtime/items.ts';
import type { ResponseFacts } from '../../core/realtime/reports.ts';
import type { ResponseRefusal } from '../../core/realtime/response-state.ts';
import {
  type ClientEvent,
  describeError,
  RealtimeError,
  readItem,
  requiredText,
  textOf,
} from './client-event.ts';
import { readRequest, responsesJson, type Settings } from './session-settings.ts';

/** Codes and messages for which clients look. */
const refusals: Readonly<Record<ResponseRefusal, () => RealtimeError>> = {
  active: () =>
    new RealtimeError(
      'conversation_already_has_active_response',
      'Conversation already has an active response in progress. Cancel it, or wait for its response.done.',
    ),
  none_active: () =>
    new RealtimeError('response_cancel_not_active', 'Cancellation failed: no active response found'),
};

/**
 * Applies an event of the client to the conversation.
 * @returns the events for the client; undefined for an event that is not about conversations
 * @throws the error for the client
 */
export function converse(
  event: ClientEvent,
  conversation: Conversation,
  { responses, offered }: Settings,
): readonly object[] | undefined {
  const { history } = conversation;
  switch (event.type) {
    case 'response.create': {
      if (responses === undefined || offered === undefined) return undefined;
      const request = readRequest(responses, event['response'], offered.voices, history);
      return accepted(conversation.create(request));
    }
    case 'response.cancel':
      return accepted(conversation.cancel());
    case 'conversation.item.create': {
      const item = readItem(event['item']);
      const previous = history.add(item, textOf(event, 'previous_item_id'));
      return addedEvents(item, previous);
    }
    case 'conversation.item.retrieve':
      return [
        { type: 'conversation.item.retrieved', item: history.get(knownItem(event, history, 'retrieve')) },
      ];
    case 'conversation.item.delete': {
      const id = knownItem(event, history, 'delete');
      history.delete(id);
      return [{ type: 'conversation.item.deleted', item_id: id }];
    }
    case 'conversation.item.truncate': {
      const id = knownItem(event, history, 'truncate');
      const { audio_end_ms: playedMs, content_index = 0 } = event;
      if (content_index !== 0)
        throw invalidValue('content_index', '`content_index` is 0: speech is the first part.');
      if (typeof playedMs !== 'number' || playedMs < 0) {
        throw invalidValue('audio_end_ms', '`audio_end_ms` is a number of milliseconds, 0 or more.');
      }
      // Ends are fractions of a millisecond.
      const spokenMs = Math.ceil(history.spokenMs(id));
      if (playedMs > spokenMs) {
        throw invalidValue(
          'audio_end_ms',
          `Audio content of ${spokenMs}ms is already shorter than ${playedMs}ms.`,
        );
      }
      history.truncate(id, playedMs);
      return [{ type: 'conversation.item.truncated', item_id: id, content_index, audio_end_ms: playedMs }];
    }
  }
  return undefined;
}

/** @returns the id of the item. @throws an error with the code on which clients depend, for an item that there is not */
function knownItem(event: ClientEvent, history: History, verb: 'retrieve' | 'delete' | 'truncate'): string {
  const id = requiredText(event, 'item_id');
  if (history.has(id)) return id;
  const message = `The conversation has no item \`${id.slice(0, 100)}\`.`;
  throw new RealtimeError(`item_${verb}_invalid_item_id`, message, 'item_id');
}

function invalidValue(param: string, message: string): RealtimeError {
  return new RealtimeError('invalid_value', message, param);
}

function accepted(refusal: ResponseRefusal | undefined): readonly object[] {
  if (refusal) throw refusals[refusal]();
  return [];
}

export function addedEvents(item: Item, previous: string | null): readonly object[] {
  const about = { previous_item_id: previous, item };
  return [
    { type: 'conversation.item.added', ...about },
    { type: 'conversation.item.done', ...about },
  ];
}

/** The event of a response that begins or, with its end, is done. */
export function responseEvent({ id, requestId, request, output, usage, end }: ResponseFacts) {
  const response = {
    id,
    object: 'realtime.response',
    conversation_id: null,
    status: end?.status ?? 'in_progress',
    status_details: end && end.status !== 'completed' ? detailsOf(end) : null,
    output,
    ...responsesJson(request),
    metadata: request.metadata,
    usage: end && usage ? usageJson(usage) : null,
    ...(requestId !== undefined && { request_id: requestId }),
  };
  return { type: end ? 'response.done' : 'response.created', response };
}

function detailsOf(end: NonNullable<ResponseFacts['end']>) {
  return {
    type: end.status,
    ...('reason' in end && { reason: end.reason }),
    ...(end.status === 'failed' && { error: describeError(end.error) }),
  };
}

/** A chat reads and writes text, whatever is heard and spoken. */
function usageJson(usage: TokenUsage) {
  const { promptTokens, cachedTokens = 0, completionTokens, totalTokens } = usage;
  return {
    total_tokens: totalTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_token_details: { text_tokens: promptTokens, audio_tokens: 0, cached_tokens: cachedTokens },
    output_token_details: { text_tokens: completionTokens, audio_tokens: 0 },
  };
}
