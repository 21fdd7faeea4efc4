import assert from 'node:assert/strict';
import { chunkJson } from '../../../src/codec/spliced-chunk.ts';
import type { ChatChunk } from '../../../src/core/entities/chat-answer.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { CallNumbers } from '../../../src/engines/openai/chat/call-numbers.ts';
import { MessageChunks } from '../../../src/engines/openai/chat/choice-forms.ts';
import { readAnswer, readChunk } from '../../../src/engines/openai/chat/json.ts';
import { ChunkReader } from '../../../src/engines/openai/chat.ts';
import { reportedError } from '../../../src/engines/openai/errors.ts';
import type { FuzzTarget } from '../target.ts';

const report = (body: string) => reportedError(body, undefined);

/** Reads events and whole answers of an upstream. Lines are the events of one stream, with layouts or without. */
export const upstreamChunks: FuzzTarget = {
  seeds: [
    '{"id":"a","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}],"usage":null}',
    '{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"b","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}',
    '{"id":"a","choices":[{"delta":{"content":"b"}}],"p":"c"}\n{"id":"a","choices":[{"delta":{"content":"\\u00e9\\n"}}],"p":""}\n{"id":"a","choices":[{"delta":{"content":"d"}}],"p":"e"}',
    '{"choices":[{"delta":{"content":"b"}}]}\n{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}',
    '{"error":{"message":"a","type":"b","param":null,"code":"c"}}',
    '{"error":"a"}',
  ],
  words: [
    'null',
    '[]',
    '{}',
    '-1',
    '1.5',
    '1e999',
    '"error":',
    '"choices":',
    '"delta":',
    '"usage":',
    '"message":',
    '"index":',
    '"__proto__":',
    '"content":"',
    '\\u00e9',
    '\\/',
    '\n',
  ],
  open: () => ({
    read(input) {
      const text = input.toString();
      const json = parsed(text);
      const chunks = new ChunkReader(report);
      const numbers = new CallNumbers();
      const messages = new MessageChunks();
      for (const line of text.split('\n')) {
        const spliced = passed(() => chunks.read(line));
        assert.deepEqual(
          spliced,
          passed(() => readChunk(line, report, numbers, messages)),
        );
      }
      if (json !== undefined) orRefused(() => readAnswer(json, report));
    },
  }),
};

const head = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'b' } as const;

/** A chunk as core and clients read it. */
function passed(read: () => ChatChunk) {
  return orRefused(() => {
    const chunk = read();
    chunk.setHead(head);
    const usage = chunk.takeUsage();
    return { usage, text: chunk.output.text, json: chunkJson(chunk, false), message: messageText(chunk) };
  });
}

function messageText({ message }: ChatChunk): string {
  return JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

function orRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
