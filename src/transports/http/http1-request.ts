/** Rules of HTTP/1 for a request's head that Node leaves to the handler, or enforces without an answer in JSON. */
import type { IncomingMessage } from 'node:http';

/** `host`, `host:port`, or empty (RFC 9110, 7.2, and RFC 3986, 3.2). */
const hostPattern = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~%!$&'()*+,;=]*)(:\d*)?$/;
const versions: readonly string[] = ['1.0', '1.1'];

/** The status with which the request is refused; undefined for a valid one. */
export function faultOf(request: IncomingMessage, headerCountMax: number): 400 | 431 | 505 | undefined {
  const { httpVersion, rawHeaders } = request;
  if (!versions.includes(httpVersion)) return 505;
  if (rawHeaders.length / 2 > headerCountMax) return 431;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (isHost(rawHeaders[index])) hosts++;
  const isHostMissing = hosts === 0 && httpVersion === '1.1';
  return hosts > 1 || isHostMissing || !hostPattern.test(request.headers.host ?? '') ? 400 : undefined;
}

function isHost(name = ''): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}
