/** Sends bytes to the port, and splits the answers as HTTP/1 frames them. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from './target.ts';

export interface Http1Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** How long a server may stay silent before its answers count as complete. */
const silenceMsMax = 1_500;

/** Sends bytes, and returns all answers until the server closes or is silent for a while. */
export async function exchange(
  target: Target,
  ...parts: readonly (string | Uint8Array)[]
): Promise<Http1Answer[]> {
  const client = await target.http1();
  for (const part of parts) await client.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
  let [length, movedAtMs] = [0, Date.now()];
  while (!client.isClosed && Date.now() - movedAtMs < silenceMsMax) {
    if (client.received.length > length) [length, movedAtMs] = [client.received.length, Date.now()];
    await sleep(5);
  }
  client.close();
  return answersIn(client.received);
}

function answersIn(received: string): Http1Answer[] {
  const answers: Http1Answer[] = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    assert.ok(end >= 0, `an answer without an end: ${rest.slice(0, 100)}`);
    const head = rest.slice(0, end);
    const status = Number(head.split(' ')[1]);
    const length = status === 100 ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    answers.push({ status, head, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** Checks that an answer is an error as documented, with a JSON body. */
export function expectError({ status, body, head }: Http1Answer): void {
  assert.ok(status >= 400, `answered ${status}, not an error`);
  assert.match(head, /^content-type: application\/json$/im, `${status} is not JSON: ${head}`);
  const { error } = JSON.parse(body);
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
}
