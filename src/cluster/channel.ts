/** Between two processes. Messages arrive whole and in order; of those on the way when one of the two ends, some may not. */
export interface Channel {
  send(message: unknown): void;
  /** To be called once, before the other end sends anything. */
  onMessage(take: (message: unknown) => void): void;
}

/** What of a process is its channel, seen from either end. */
interface Ipc {
  readonly connected: boolean;
  on(event: 'message', take: (message: unknown) => void): unknown;
  send?: Send | undefined;
}
type Send = (
  message: object,
  handle: undefined,
  options: undefined,
  sent: (error: Error | null) => void,
) => boolean;

/** The channel to a process that was forked, or to the one that has forked this. It carries what can be cloned. */
export function ipcChannel(ipc: Ipc): Channel {
  return {
    send: (message) => {
      // To an end that is gone nothing needs to be said: both are told of that by the `disconnect`.
      if (ipc.connected) ipc.send?.({ message }, undefined, undefined, () => undefined);
    },
    onMessage: (take) => {
      ipc.on('message', (envelope: unknown) => {
        if (typeof envelope === 'object' && envelope !== null && 'message' in envelope)
          take(envelope.message);
      });
    },
  };
}
