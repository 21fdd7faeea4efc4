/** How the port stops: running requests may end, new ones are refused, and no client can delay it beyond the limit. */
import { text } from 'node:stream/consumers';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, describe, expect, it } from 'vitest';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { chatBody, inTime, LimitedPort, speechBody } from '../../support/limited-port.ts';
import { frameTypes, preface, request, settings } from '../../support/raw-http2.ts';

/** The time that running requests get. A port that waits for all of it exceeds the time of its test. */
const drainMs = 3_600_000;
const inEvents = { ...chatBody, stream: true };
const isWhole = /data: \[DONE\]\n\n$/;

describe('a stopping port', () => {
  const open: LimitedPort[] = [];
  const start = async (options: Parameters<typeof LimitedPort.start>[0] = {}) => {
    const port = await LimitedPort.start({ drainMs, ...options });
    open.push(port);
    return port;
  };
  const stop = (port: LimitedPort) => {
    open.splice(open.indexOf(port), 1);
    return port.parley.close();
  };
  /** Waits until this many requests run: a stream has its record before its first byte. */
  const running = (port: LimitedPort, count: number) =>
    expect
      .poll(
        async () => (await port.parley.app.store.usage.list({}, { size: 10, after: undefined })).items,
        inTime,
      )
      .toHaveLength(count);
  afterEach(async () => {
    for (const port of [...open]) await stop(port);
  });

  it('lets running requests end on every protocol, then closes at once', async () => {
    const port = await start();
    const { authorization } = port;
    const path = '/api/v1/chat/completions';
    const stream = port.openSession().request({ ':method': 'POST', ':path': path, authorization });
    stream.end(JSON.stringify(inEvents));
    const client = createClient(ChatService, createGrpcTransport({ baseUrl: port.origin }));
    const content = { value: { case: 'text' as const, value: 'hello' } };
    const params = { model: 'eliza', messages: [{ role: 'user', content }] };
    const chatOverGrpc = async () => {
      let last: number | undefined;
      const parts = client.streamChatCompletion({ params }, { headers: { authorization } });
      for await (const { chunk } of parts) last = chunk?.usage?.totalTokens;
      return String(last);
    };
    const answers = [
      text(stream),
      port.parley.postJson('/chat/completions', inEvents).then((answer) => answer.text()),
      chatOverGrpc(),
    ];
    await running(port, 3);
    const stopping = stop(port);
    const [http2, http1, grpc] = await Promise.all(answers);
    expect(http2).toMatch(isWhole);
    expect(http1).toMatch(isWhole);
    expect(grpc).toBe('9');
    await stopping;
  });

  it('notifies HTTP/2 clients, and accepts no more of their requests', async () => {
    const port = await start();
    const client = await port.openHttp2();
    await client.write(port.http2Post(1, '/chat/completions', inEvents));
    await running(port, 1);
    const stopping = stop(port);
    await expect.poll(() => client.goawayCode, inTime).toBe(0);
    await client.write(request(3));
    await expect.poll(() => client.isClosed, inTime).toBe(true);
    expect(client.received(frameTypes.headers, 3)).toEqual([]);
    const answer = client.received(frameTypes.data, 1).map(({ payload }) => payload.toString());
    expect(answer.join('')).toMatch(isWhole);
    client.close();
    await stopping;
  });

  it('does not wait for idle clients', async () => {
    const port = await start({ headersMsMax: 60_000 });
    await port.openHttp1();
    await port.openHttp2({ start: preface.subarray(0, 10) });
    const idle = await port.openHttp2();
    await idle.write(request(1));
    await expect.poll(() => idle.received(frameTypes.headers, 1).length, inTime).toBe(1);
    const stopping = stop(port);
    await expect.poll(() => idle.isClosed, inTime).toBe(true);
    // This socket would leave its end open for ever.
    idle.close();
    await stopping;
  });

  it('answers on connections that it has just accepted, and closes them', async () => {
    const port = await start({ idleMs: drainMs });
    const http1 = await port.openHttp1();
    const http2 = await port.openHttp2({ start: preface.subarray(0, 10) });
    const stopping = stop(port);
    const connects = () =>
      port.openHttp1().then(
        () => true,
        () => false,
      );
    await expect.poll(connects, inTime).toBe(false);
    await http1.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    await http2.write(Buffer.concat([preface.subarray(10), settings()]));
    await expect.poll(() => http1.isClosed, inTime).toBe(true);
    expect(http1.received).toContain('HTTP/1.1 200 OK\r\n');
    expect(http1.received).toMatch(/^connection: close\r$/im);
    await expect.poll(() => http2.goawayCode, inTime).toBe(0);
    http2.close();
    await stopping;
  });

  it('cuts requests that do not end in time', async () => {
    const port = await start({ drainMs: 1000 });
    const http2 = await port.openHttp2();
    await http2.write(port.http2Post(1, '/audio/speech', speechBody));
    const http1 = await port.openHttp1();
    await http1.write(port.http1Post('/audio/speech', speechBody));
    const deaf = await port.openHttp2();
    await deaf.write(port.http2Post(1, '/audio/speech', speechBody));
    deaf.socket.pause();
    await expect.poll(() => port.speaking, inTime).toBe(3);
    await stop(port);
    await expect.poll(() => http1.isClosed && http2.isClosed, inTime).toBe(true);
    expect(port.speaking).toBe(0);
    deaf.close();
  });

  it('refuses later connections', async () => {
    const port = await start();
    await stop(port);
    await expect(port.openHttp1()).rejects.toThrow(/ECONNREFUSED/);
  });
});
