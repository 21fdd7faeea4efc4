/** Every error status of an upstream reaches the client of every wire, with its Retry-After and the matching gRPC code. */
import { status as grpcStatus } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { Operator } from './books.ts';
import { playing, whole } from './chat-calls.ts';
import { startTarget } from './servers.ts';
import { wires } from './wires.ts';

const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);
/** Ten days: the value is not shortened. */
const retryAfterSeconds = 864_000;

const named: Readonly<Record<number, keyof typeof grpcStatus>> = {
  401: 'FAILED_PRECONDITION',
  402: 'FAILED_PRECONDITION',
  403: 'FAILED_PRECONDITION',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  408: 'UNAVAILABLE',
  425: 'UNAVAILABLE',
  501: 'UNIMPLEMENTED',
  504: 'DEADLINE_EXCEEDED',
};

function expectedCode(status: number): number {
  return grpcStatus[named[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE')];
}

it.each(wires.map((open) => [open({ origin: 'http://127.0.0.1:9', adminKey: '' }).name, open] as const))(
  'an upstream’s statuses reach a client of %s',
  { timeout: 60_000 },
  async (_, open) => {
    const target = await startTarget('playing');
    const [operator, client] = [new Operator(target), open(target)];
    const account = await operator.open({ credits: '1000' });
    const headers = { authorization: account.authorization ?? '' };
    for (const status of statuses) {
      const { method, messages } = whole(playing(`fail upstream_error ${status} ${retryAfterSeconds}`));
      const { error } = await client.call({ method, requests: messages(account), headers });
      expect(error).toMatchObject({ code: 'upstream_error', httpStatus: status, retryAfterSeconds });
      expect(error?.grpcCode).toBe(client.name.startsWith('REST') ? undefined : expectedCode(status));
    }
    await Promise.all([client.close(), operator.close()]);
    await target.close();
  },
);
