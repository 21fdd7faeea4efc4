/** Chunks that are only compared with a known layout reach core and clients as chunks that are parsed. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, it, vi } from 'vitest';
import { UsageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { chunkJson } from '../../../src/codec/spliced-chunk.ts';
import { StreamedAnswer, withUsage } from '../../../src/core/chat/streamed-answer.ts';
import type { ChatChunk } from '../../../src/core/entities/chat-answer.ts';
import { toParleyError } from '../../../src/core/values/errors.ts';
import { CallNumbers } from '../../../src/engines/openai/chat/call-numbers.ts';
import { readChunk } from '../../../src/engines/openai/chat/json.ts';
import { SseReader } from '../../../src/engines/openai/chat/sse.ts';
import { ChunkReader } from '../../../src/engines/openai/chat.ts';
import { reportedError } from '../../../src/engines/openai/errors.ts';
import { chunkStreams } from '../../support/chunk-streams.ts';

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 2, model: 'ours' } as const;
const report = (body: string) => reportedError(body, undefined);

type Read = (data: string) => ChatChunk;

const spliced = (): Read => {
  const reader = new ChunkReader(report);
  return (data) => reader.read(data);
};
const parsed = (): Read => {
  const numbers = new CallNumbers();
  return (data) => readChunk(data, report, numbers);
};

/** How a client gets a chunk. */
type Write = (chunk: ChatChunk) => string;

const asJson: Write = (chunk) => chunkJson(chunk, false);
const asJsonWithUsage: Write = (chunk) => chunkJson(chunk, true);
const asMessage: Write = ({ message }) =>
  JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));

/** Reads a stream in these pieces. Returns the chunks for the client, and the facts that core knows at its end. */
function passed(pieces: readonly Uint8Array[], read: Read, write: Write) {
  const sse = new SseReader();
  const answer = new StreamedAnswer(() => head);
  const sent: string[] = [];
  const outcome = () => {
    for (const events of [...pieces.map((piece) => () => sse.read(piece)), () => sse.end()]) {
      for (const { name, data } of events()) {
        if (data === '[DONE]') return 'done';
        if (name === 'error') throw report(data);
        sent.push(...answer.take([read(data)]).map(write));
      }
    }
    return 'end';
  };
  try {
    const ended = outcome();
    const isApart = write === asJsonWithUsage;
    sent.push(...withUsage(answer.finish(), answer.usage ?? create(UsageSchema), isApart).map(write));
    return { sent, text: answer.text, usage: answer.usage, ended };
  } catch (error) {
    return { sent, text: answer.text, usage: answer.usage, ended: String(toParleyError(error).cause) };
  }
}

describe.each(Object.entries(chunkStreams))('a stream of %s', (_, stream) => {
  const bytes = Buffer.from(stream);

  it.each([
    ['JSON', asJson],
    ['JSON with the member usage', asJsonWithUsage],
    ['messages', asMessage],
  ])('is the same as %s', (_, write) => {
    expect(passed([bytes], spliced(), write)).toEqual(passed([bytes], parsed(), write));
  });

  it('is the same wherever it is cut', () => {
    const whole = passed([bytes], parsed(), asJson);
    for (let at = 1; at < bytes.length; at++) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      expect(passed(pieces, spliced(), asJson), `cut at byte ${at}`).toEqual(whole);
    }
    const each = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(passed(each, spliced(), asJson)).toEqual(whole);
  });
});

describe('the chunks of a stream', () => {
  const chunk = (content: string, more = '') =>
    `{"id":"a","choices":[{"index":0,"delta":{"content":"${content}"}${more}}],"usage":null}`;
  const parses = (read: () => unknown) => {
    const parse = vi.spyOn(JSON, 'parse');
    read();
    const { length } = parse.mock.calls;
    parse.mockRestore();
    return length;
  };

  it('are parsed only for a new layout, or for a string with escapes', () => {
    const read = spliced();
    expect(parses(() => read(chunk('one')))).toBeGreaterThan(0);
    const seen: string[] = [];
    expect(
      parses(() =>
        seen.push(read(chunk('two')).output.text, read(chunk('{"'.replace('"', "'"))).output.text),
      ),
    ).toBe(0);
    expect(seen).toEqual(['two', "{'"]);
    expect(parses(() => read(chunk('\\n')))).toBe(1);
    expect(parses(() => read(chunk('three', ',"x":1')))).toBeGreaterThan(0);
  });

  it('have the member usage for the clients that want it', () => {
    const read = spliced();
    read(chunk('one'));
    const two = read(chunk('two'));
    two.setHead(head);
    const json = [true, false, true].map((withUsage) => chunkJson(two, withUsage));
    expect(json.map((each) => each.endsWith(',"usage":null}'))).toEqual([true, false, true]);
  });

  it('are not compared with layouts for ever if each has another', () => {
    const read = spliced();
    for (let x = 0; x < 8; x++) read(chunk('a', `,"x":${x}`));
    expect(parses(() => read(chunk('a', ',"x":9')))).toBe(1);
    for (let n = 0; n < 4; n++) read(chunk('a', ',"x":7'));
    expect(parses(() => read(chunk('a', ',"x":10')))).toBeGreaterThan(1);
  });

  it('may be long, but a long one is no layout', () => {
    const read = spliced();
    read(chunk('a'));
    expect(read(chunk('b'.repeat(200_000))).output.text).toHaveLength(200_000);
    const other = spliced();
    other(chunk('a', `,"x":"${'y'.repeat(5_000)}"`));
    expect(parses(() => other(chunk('a', `,"x":"${'y'.repeat(5_000)}"`)))).toBe(1);
  });
});
