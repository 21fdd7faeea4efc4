/** Streamed chats that the server's time limit cuts short after some output: they end whole, and are paid. */
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { type Case, type CaseRequest, calling, ok } from './case.ts';
import { aCost, saying } from './chat-calls.ts';
import { play } from './play.ts';

const model = 'eliza';
const script = play('say one two', 'wait');
const said = { value: { case: 'text' as const, value: script } };
const messages = saying(script);

const cut = (what: string, request: CaseRequest, answer: readonly object[]): Case => ({
  what: `${what} that takes too long after some output ends whole`,
  server: 'strict',
  request,
  answer,
  records: [
    ok({
      operation: 'chat',
      model,
      code: 'deadline_exceeded',
      completion_tokens: 2,
      tokens_source: 'estimated',
      ...aCost,
    }),
  ],
});

const { streamChatCompletion } = ChatService.method;
const [role, text] = [{ delta: { role: 'assistant' } }, { delta: { content: 'one two' } }];
const chunk = (choices: readonly object[], more: object = {}) => ({
  chunk: { id: 'chat-1', object: 'chat.completion.chunk', model, choices, ...more },
});
const usage = { completion_tokens: 2 };
const end = { delta: {}, finish_reason: 'length' };
const place = { output_index: 0, content_index: 0 };
const part = { type: 'output_text', text: 'one two' };
const item = { type: 'message', status: 'incomplete', content: { parts: { items: [part] } } };

export const timeLimitCases: readonly Case[] = [
  cut('a chat', calling(streamChatCompletion, { params: { model, messages } }), [
    chunk([role]),
    chunk([text]),
    chunk([end], { usage }),
  ]),
  cut(
    'a chat with its usage in a separate chunk',
    calling(streamChatCompletion, { params: { model, messages, streamOptions: { includeUsage: true } } }),
    [chunk([role]), chunk([text]), chunk([end]), { chunk: { usage } }],
  ),
  cut(
    'a completion',
    calling(CompletionsService.method.streamCompletion, { params: { model, prompt: said } }),
    [
      { completion: { choices: [{ text: 'one two' }] } },
      { completion: { choices: [{ finish_reason: 'length' }], usage } },
    ],
  ),
  cut(
    'a message',
    calling(MessagesService.method.streamMessage, { params: { model, maxTokens: 100, messages } }),
    [
      { event: { type: 'message_start' } },
      { event: { type: 'content_block_start' } },
      { event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'one two' } } },
      { event: { type: 'content_block_stop' } },
      { event: { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 2 } } },
      { event: { type: 'message_stop' } },
    ],
  ),
  cut('a response', calling(ResponsesService.method.streamResponse, { params: { model, input: said } }), [
    { event: { type: 'response.created' } },
    { event: { type: 'response.in_progress' } },
    { event: { type: 'response.output_item.added' } },
    { event: { type: 'response.content_part.added' } },
    { event: { type: 'response.output_text.delta', ...place, delta: 'one two' } },
    { event: { type: 'response.output_text.done', text: 'one two' } },
    { event: { type: 'response.content_part.done' } },
    { event: { type: 'response.output_item.done', item } },
    {
      event: {
        type: 'response.incomplete',
        response: {
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          output: [item],
          usage: { output_tokens: 2 },
        },
      },
    },
  ]),
];
