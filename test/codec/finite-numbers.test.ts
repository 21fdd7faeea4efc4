import { create } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { pathOfNonFinite } from '../../src/codec/finite-numbers.ts';

const pathIn = (init: Parameters<typeof create<typeof ChatCompletionParamsSchema>>[1]) =>
  pathOfNonFinite(create(ChatCompletionParamsSchema, init));

describe('numbers that are not finite', () => {
  it('are found in fields, maps, lists and JSON, with their path', () => {
    expect(pathIn({ topP: Number.NaN })).toBe('top_p');
    expect(pathIn({ logitBias: { 5: 1, 7: Number.POSITIVE_INFINITY } })).toBe('logit_bias.7');
    expect(pathIn({ other: { a: [1, { b: Number.NEGATIVE_INFINITY }] } })).toBe('other.a[1].b');
    expect(pathIn({ messages: [{}, { other: { x: Number.NaN } }] })).toBe('messages[1].other.x');
    const list = {
      case: 'listValue' as const,
      value: { values: [{ kind: { case: 'numberValue' as const, value: Number.NaN } }] },
    };
    expect(pathOfNonFinite(create(ValueSchema, { kind: list }))).toBe('list_value.values[0].number_value');
  });

  it('are not finite ones', () => {
    expect(
      pathIn({ topP: 1, n: 0, maxTokens: Number.MAX_VALUE, other: { a: [1, 'NaN', null, true] } }),
    ).toBeUndefined();
  });
});
