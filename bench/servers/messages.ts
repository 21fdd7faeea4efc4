/** What every server of the benchmark answers. */
import { create } from '@bufbuild/protobuf';
import { ListModelsResponseSchema } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { fliteVoices } from '../../src/engines/builtin/flite/voices.ts';

const chunks = 100;

export function chatCompletion(): ChatCompletion {
  const content = { value: { case: 'text', value: 'word '.repeat(100) } } as const;
  return create(ChatCompletionSchema, {
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000n,
    model: 'eliza',
    choices: [{ index: 0, message: { role: 'assistant', content }, finishReason: 'stop' }],
    usage: { promptTokens: 9, completionTokens: 200, totalTokens: 209 },
  });
}

export function chatChunks(): ChatCompletionChunk[] {
  return Array.from({ length: chunks }, (_, index) =>
    create(ChatCompletionChunkSchema, {
      id: 'chatcmpl-bench',
      object: 'chat.completion.chunk',
      created: 1_700_000_000n,
      model: 'eliza',
      choices: [
        {
          index: 0,
          delta: { content: ` word${index}` },
          ...(index === chunks - 1 && { finishReason: 'stop' }),
        },
      ],
      ...(index === chunks - 1 && { usage: { promptTokens: 9, completionTokens: 200, totalTokens: 209 } }),
    }),
  );
}

/** What Parley answers by default. */
export const listModelsResponse = create(ListModelsResponseSchema, {
  object: 'list',
  data: [
    {
      id: 'flite',
      object: 'model',
      ownedBy: 'parley',
      type: 'speech',
      voices: fliteVoices.map(({ id }) => id),
      voiceDetails: fliteVoices.map(({ id, language }) => ({ id, language })),
      defaultVoice: 'rms',
    },
    { id: 'pocketsphinx', object: 'model', ownedBy: 'parley', type: 'transcription' },
    {
      id: 'eliza',
      object: 'model',
      ownedBy: 'parley',
      type: 'chat',
      contextWindow: 4096,
      maxOutputTokens: 4096,
      price: { input: '0.1', output: '0.4', unit: 'credits_per_million_tokens' },
    },
  ],
});
