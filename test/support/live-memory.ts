/** Buffers of this process, and clients whose bytes it has read. */
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { collect } from './live-bytes.ts';
import type { RawClient } from './raw-http.ts';

/** The most bytes of buffers at once while `work` ran, above those before it. */
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

/**
 * Opens a client of a server in this process. Returns a function that resolves once the server has read everything that
 * the client wrote.
 */
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
