import { type DescMessage, hasOption } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { SetAccountLimitsRequestSchema } from '../../gen/parley/admin/v1/admin_pb.ts';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { json_list as jsonList, json_union as jsonUnion } from '../../gen/parley/rest/v1/options_pb.ts';
import { refuseUnknownMembers } from '../../src/codec/unknown-fields.ts';
import { allRpcs, isStrict, rpcTable } from '../../src/core/rpcs.ts';
import type { Services } from '../../src/core/services.ts';

const refusalOf = (json: object, message: DescMessage = SetAccountLimitsRequestSchema) => {
  try {
    refuseUnknownMembers(message, JSON.parse(JSON.stringify(json)), { refusesEmptyLists: true });
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('a member that a request does not have', () => {
  it.each([
    [{ limit: {} }, 'limit', 'limits'],
    [{ limits: { budget: { day: '1' } } }, 'limits.budget', 'limits.budgets'],
    [{ limits: { requestsPerMinute: 1 } }, 'limits.requestsPerMinute', 'limits.requests_per_minute'],
    [{ limits: { budgets: { daily: '1' } } }, 'limits.budgets.daily', 'limits.budgets.day'],
  ])('is refused with its path and the nearest name: %j', (json, param, meant) => {
    expect(refusalOf(json)).toMatchObject({
      code: 'invalid_parameter',
      param,
      message: expect.stringContaining(`Did you mean \`${meant}\`?`),
    });
  });

  it('is refused with all names if none is similar', () => {
    expect(refusalOf({ limits: { budgets: { weather: 1 } } })).toMatchObject({
      message: '`limits.budgets.weather` is not a field of this request. It takes day, month, total.',
    });
  });

  it('is refused in the elements of lists', () => {
    const messages = [{ role: 'user' }, { role: 'user', roles: 'x' }];
    expect(refusalOf({ messages }, ChatCompletionParamsSchema)).toMatchObject({ param: 'messages[1].roles' });
  });

  it('is not repeated as the parameter if it is not a name', () => {
    expect(refusalOf({ limits: { 'a b\n': 1 } })).toMatchObject({
      param: undefined,
      message: expect.stringContaining('`limits.a b\\u{a}` is not a field'),
    });
  });

  it('may be anything in a map and in JSON, and null counts as absent', () => {
    expect(
      refusalOf({ metadata: { a: '1' }, other: { b: { c: 1 } } }, ChatCompletionParamsSchema),
    ).toBeUndefined();
    expect(refusalOf({ account_id: 'a', limits: { budgets: null, models: null } })).toBeUndefined();
  });
});

it('refuses empty lists at every depth', () => {
  expect(refusalOf({ limits: { models: [] } })).toMatchObject({ param: 'limits.models' });
});

describe('the messages of strict requests', () => {
  const service: unknown = new Proxy({}, { get: () => () => undefined });
  const table = rpcTable(new Proxy({}, { get: () => service }) as Services);
  const messages = new Set<DescMessage>();
  const collect = (message: DescMessage) => {
    if (messages.has(message)) return;
    messages.add(message);
    for (const field of message.fields) if (field.message) collect(field.message);
  };
  for (const rpc of allRpcs(table)) if (isStrict(rpc)) collect(rpc.method.input);

  it('name a field in one way only, as Connect would accept two', () => {
    const fields = [...messages].flatMap((message) => message.fields);
    expect(fields.length).toBeGreaterThan(60);
    expect(fields.filter(({ name, jsonName }) => name !== jsonName).map(String)).toEqual([]);
  });

  it('have the same JSON over REST and Connect', () => {
    const others = [...messages].filter(
      (message) => hasOption(message, jsonList) || hasOption(message, jsonUnion),
    );
    expect(others.map(String)).toEqual([]);
  });
});
