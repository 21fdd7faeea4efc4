import type { MessagePort } from 'node:worker_threads';
import type { Channel } from '../../src/cluster/channel.ts';

/** A channel within a process, which copies what is sent as that between processes does. */
export function portChannel(port: MessagePort): Channel {
  return {
    send: (message) => port.postMessage(message),
    onMessage: (take) => port.on('message', take),
  };
}
