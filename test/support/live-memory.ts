/** Memory as the collector counts it: neither the machine's load nor garbage changes the figure. */
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import type { RawClient } from './raw-http.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that this process still refers to, after two full collections: buffers are freed by the second. */
export function liveBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The most bytes of buffers that stood at once while `work` ran, beyond those before it. */
export async function peakBufferBytes(work: () => Promise<unknown>): Promise<number> {
  collect();
  const before = process.memoryUsage().arrayBuffers;
  let peak = before;
  const note = () => {
    peak = Math.max(peak, process.memoryUsage().arrayBuffers);
  };
  const timer = setInterval(note, 2);
  try {
    await work();
    note();
  } finally {
    clearInterval(timer);
  }
  return peak - before;
}

/** Opens a client of a server in this process, and returns what resolves once the server has read all that the client wrote. */
export async function openWatched(
  open: () => Promise<RawClient>,
): Promise<{ readonly client: RawClient; readonly isRead: () => Promise<void> }> {
  const accepted = Promise.withResolvers<Socket>();
  const note = (message: unknown) => accepted.resolve((message as { socket: Socket }).socket);
  diagnostics.subscribe('net.server.socket', note);
  const client = await open();
  const socket = await accepted.promise;
  diagnostics.unsubscribe('net.server.socket', note);
  const isRead = () => expect.poll(() => socket.bytesRead).toBe(client.socket.bytesWritten);
  return { client, isRead };
}
