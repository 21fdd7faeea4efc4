import { type AddressInfo, createServer, type Socket } from 'node:net';

interface MuteServer {
  readonly port: number;
  /** How many connections were opened. */
  readonly connections: number;
  close(): Promise<void>;
}

/** A server that accepts connections and stays silent, or resets them, so that TLS handshakes never end. */
export async function startMuteServer({ resets = false } = {}): Promise<MuteServer> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    if (resets) socket.resetAndDestroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return sockets.length;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
