import type { JsonValue } from '@bufbuild/protobuf';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../../src/codec/codec.ts';
import { type FuzzTarget, refusable } from '../target.ts';

const codecs = [
  jsonCodec(ChatCompletionParamsSchema),
  jsonCodec(ChatCompletionSchema),
  jsonCodec(ChatCompletionChunkSchema),
];

/** The first byte chooses the message. */
export const chatJson: FuzzTarget = {
  seeds: [
    '0{"model":"a","messages":[{"role":"user","content":"b"},{"role":"user","content":[{"type":"text","text":"c"},{"type":"image_url","image_url":{"url":"d"}}]}],"stop":["e"],"n":1,"x":{"y":[null,true]}}',
    '0{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"b","arguments":"{}"}}]}],"tools":[{"type":"function","function":{"name":"b","parameters":{"type":"object"}}}],"tool_choice":"auto","stream_options":{"include_usage":true},"response_format":{"type":"json_object"},"logit_bias":{"1":2}}',
    '1{"id":"a","object":"chat.completion","created":1,"model":"b","choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}',
    '2{"id":"a","choices":[{"index":0,"delta":{"content":"b","tool_calls":[{"index":0,"function":{"arguments":"c"}}]},"finish_reason":null}]}',
  ],
  words: [
    'null',
    'true',
    '[]',
    '{}',
    '""',
    '1e999',
    '-0',
    '9007199254740993',
    '"__proto__":',
    '"constructor":',
    '\\ud800',
    '\\u0000',
    '"content":',
    '"messages":',
    '"other":',
    ',',
  ],
  open: () => ({
    read(input) {
      const codec = codecs[(input[0] ?? 0) % codecs.length];
      const json = parsed(input.toString('utf8', 1));
      if (codec === undefined || json === undefined) return;
      refusable(() => codec.decode(json));
      const once = codec.encode(codec.decodeLeniently(json) as never);
      const twice = codec.encode(codec.decodeLeniently(once) as never);
      if (JSON.stringify(once) !== JSON.stringify(twice))
        throw new Error('what it has written it reads otherwise');
    },
  }),
};

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
