/** A REST answer whose client reads slowly. */
import { createServer, request as get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Gate, type GateDeps } from '../../../src/core/access/gate.ts';
import { systemClock } from '../../../src/core/values/clock.ts';
import { requestTimeLimit } from '../../../src/core/values/signal.ts';
import { ByteBudget } from '../../../src/transports/byte-budget.ts';
import { Exchange } from '../../../src/transports/rest/exchange.ts';
import { ServedCall } from '../../../src/transports/run-call.ts';

/** More than the buffers of the system hold. */
const bigPart = Buffer.alloc(32 * 1024 * 1024);

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A call without a gate. */
function servedCall(requestMsMax: number): ServedCall {
  const gate = new Gate({} as GateDeps);
  const head = {
    wire: 'rest',
    client: { address: '127.0.0.1', noteKey: () => undefined },
    header: () => undefined,
  } as const;
  const bytes = new ByteBudget({ bytesMax: 1_000, bytesPerAddressMax: 1_000, waitMsMax: 0 });
  return new ServedCall(head, {
    gate,
    clock: systemClock,
    log,
    tracer: undefined,
    bytes,
    timeLimit: requestTimeLimit(requestMsMax),
    sessionTimeLimit: requestTimeLimit(requestMsMax),
  });
}

describe('an answer whose client does not read', () => {
  afterEach(() => vi.useRealTimers());

  it('waits as long as the request may take: the port ends stalled clients', async () => {
    const minute = 60_000;
    let write: Promise<void> | undefined;
    const server = createServer((request, response) => {
      // Node's internal timers are not faked.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const exchange = new Exchange(request, response, servedCall(60 * minute));
      exchange.begin({ 'content-type': 'audio/pcm' });
      write = exchange.write(bigPart).finally(() => exchange.end());
      write.catch(() => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    let received = 0;
    const isWhole = new Promise<boolean>((resolve) => {
      get({ port, host: '127.0.0.1' }, (response) => {
        vi.advanceTimersByTime(10 * minute);
        vi.useRealTimers();
        response.on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        response.on('close', () => resolve(response.complete));
      }).end();
    });
    expect(await isWhole).toBe(true);
    expect(received).toBe(bigPart.length);
    await expect(write).resolves.toBeUndefined();
    server.close();
  });
});
