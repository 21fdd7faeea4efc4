import assert from 'node:assert/strict';
import { type SseEvent, SseReader } from '../../../src/engines/openai/chat/sse.ts';
import type { FuzzTarget } from '../target.ts';

/** The first byte is the length of the pieces. The events must not depend on how the bytes are cut. */
export const sse: FuzzTarget = {
  seeds: [
    '\x03data: {"a":1}\n\ndata: [DONE]\n\n',
    '\x01: comment\r\nevent: a\rdata: b\ndata: c\n\nid: 1\nretry: 5\n\n',
    '\x02\xef\xbb\xbfdata: \xf0\x9f\x98\x80\n\n',
  ],
  words: [
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    'data:',
    'data: ',
    'event: error\n',
    ':',
    '\xef\xbb\xbf',
    '\xf0\x9f',
    '[DONE]',
  ],
  open: () => ({
    read(input) {
      const bytes = input.subarray(1);
      assert.deepEqual(
        eventsOf(bytes, 1 + ((input[0] ?? 0) % 16)),
        eventsOf(bytes, Math.max(1, bytes.length)),
      );
    },
  }),
};

function eventsOf(bytes: Buffer, pieceBytes: number): SseEvent[] {
  const reader = new SseReader();
  const events: SseEvent[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    events.push(...reader.read(bytes.subarray(at, at + pieceBytes)));
  return [...events, ...reader.end()];
}
