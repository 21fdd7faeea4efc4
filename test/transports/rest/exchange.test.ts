/** One REST answer and a client that takes its time over it. */
import { createServer, request as get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newRequestId } from '../../../src/core/ids.ts';
import { Exchange } from '../../../src/transports/rest/exchange.ts';

/** Over this, no buffer of the system takes all of it. */
const bigPart = Buffer.alloc(32 * 1024 * 1024);

describe('an answer whose client reads nothing', () => {
  afterEach(() => vi.useRealTimers());

  it('waits for as long as the request may take: how long a client may stall is set for the port', async () => {
    const minute = 60_000;
    let write: Promise<void> | undefined;
    const server = createServer((request, response) => {
      // Those of Node's own parts are no globals, and go on.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const exchange = new Exchange(request, response, {
        id: newRequestId(Date.now()),
        requestMsMax: 60 * minute,
      });
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
