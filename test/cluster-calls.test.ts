/** Calls between two processes, here between the two ends of a channel in one. */
import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Calls, callable, type Functions } from '../src/cluster/calls.ts';
import { ParleyError } from '../src/core/errors.ts';
import { portChannel } from './support/port-channel.ts';

interface Far {
  echo(...values: unknown[]): Promise<unknown>;
  never(): Promise<void>;
  refuse(): Promise<void>;
  fail(): Promise<void>;
  /** Calls back before it answers. */
  around(): Promise<unknown>;
}

describe('calls', () => {
  let sent: number;
  let near: Calls;
  let far: Far;
  let close: () => void;

  beforeEach(() => {
    const { port1, port2 } = new MessageChannel();
    sent = 0;
    const counted = portChannel(port1);
    const channel = {
      ...counted,
      send: (message: unknown) => {
        sent++;
        counted.send(message);
      },
    };
    near = new Calls(channel, { own: async () => 'here' });
    const functions: Functions = {
      echo: async (...values: unknown[]) => values,
      never: () => new Promise(() => undefined),
      refuse: async () => {
        throw new ParleyError('overloaded', {
          message: 'Wait.',
          retryAfterSeconds: 7,
          cause: new Error('busy'),
        });
      },
      fail: async () => {
        throw Object.assign(new Error('no room'), { code: 'ENOSPC', errno: -28 });
      },
      around: () => callable<{ own(): Promise<unknown> }>(other, ['own']).own(),
    };
    const other = new Calls(portChannel(port2), functions);
    far = callable<Far>(near, ['echo', 'never', 'refuse', 'fail', 'around']);
    close = () => port1.close();
  });
  afterEach(() => close());

  it('carry amounts of any size, bytes, and what is not there', async () => {
    const values = [2n ** 80n, new Uint8Array([0, 255]), undefined, { absent: undefined, list: [null] }];
    expect(await far.echo(...values)).toEqual(values);
  });

  it('of one turn go in one message', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map((value) => far.echo(value)));
    expect([answers, sent]).toEqual([[[1], [2], [3], [4]], 1]);
  });

  it('may be made by who is called, before it answers', async () => {
    expect(await Promise.all([far.around(), far.echo(1), far.around()])).toEqual(['here', [1], 'here']);
  });

  it('reject with an error of the domain as what it is', async () => {
    const error = await far.refuse().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ParleyError);
    expect(error).toMatchObject({
      code: 'overloaded',
      message: 'Wait.',
      retryAfterSeconds: 7,
      httpStatus: 503,
    });
    expect((error as ParleyError).cause).toMatchObject({ message: 'busy' });
  });

  it('reject with any other error as what a log and the command line need of it', async () => {
    await expect(far.fail()).rejects.toMatchObject({ message: 'no room', code: 'ENOSPC', errno: -28 });
    const unknown = callable<{ toString2(): Promise<void> }>(near, ['toString2']);
    await expect(unknown.toString2()).rejects.toThrow('nothing to call by the name toString2');
  });

  it('reject when the other end is gone, and so do all that come later', async () => {
    const waiting = far.never();
    near.close(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(far.echo(1)).rejects.toThrow('gone');
    await near.drain();
  });

  it('can be waited for together', async () => {
    let isAnswered = false;
    const echo = far.echo(1).then(() => {
      isAnswered = true;
    });
    await near.drain();
    await echo;
    expect(isAnswered).toBe(true);
  });
});
