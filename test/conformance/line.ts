import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection between a client and a server that can be cut. */
export interface Line {
  /** The address that the client calls. */
  readonly origin: string;
  /** Ends the connections to the server without notice from the client. */
  cut(): void;
  close(): void;
}

export async function openLine(origin: string): Promise<Line> {
  const { hostname, port } = new URL(origin);
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    ends.add(far);
    for (const end of [near, far]) end.on('error', () => undefined);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const cut = () => {
    for (const end of ends) end.destroy();
  };
  return {
    origin: `http://127.0.0.1:${address.port}`,
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}
