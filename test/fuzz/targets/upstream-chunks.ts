import { ParleyError } from '../../../src/core/values/errors.ts';
import { readAnswer, readChunk } from '../../../src/engines/openai/chat/json.ts';
import { reportedError } from '../../../src/engines/openai/errors.ts';
import type { FuzzTarget } from '../target.ts';

const report = (body: string) => reportedError(body, undefined);

/** Reads events and whole answers of an upstream. */
export const upstreamChunks: FuzzTarget = {
  seeds: [
    '{"id":"a","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}],"usage":null}',
    '{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"b","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}',
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
  ],
  open: () => ({
    read(input) {
      const text = input.toString();
      const json = parsed(text);
      for (const read of [
        () => readChunk(text, report),
        () => json !== undefined && readAnswer(json, report),
      ]) {
        try {
          read();
        } catch (error) {
          if (!(error instanceof ParleyError)) throw error;
        }
      }
    },
  }),
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
