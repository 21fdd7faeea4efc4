/** The program with an HTTP/2 connection to it. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { type Parley, type ParleyOptions, startParley } from './parley.ts';

interface Connected {
  readonly parley: Parley;
  readonly session: ClientHttp2Session;
  close(): Promise<void>;
}

export async function startConnected(options?: ParleyOptions): Promise<Connected> {
  const parley = await startParley(options);
  const session = connect(new URL(parley.baseUrl).origin);
  const close = () => {
    session.destroy();
    return parley.close();
  };
  return { parley, session, close };
}
