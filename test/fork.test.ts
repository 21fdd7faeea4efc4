import cluster from 'node:cluster';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forkWorker } from '../src/cluster/fork.ts';

describe('a worker', () => {
  afterEach(() => vi.restoreAllMocks());

  it('that the system does not let start has ended, and takes nobody with it', async () => {
    // As Node does for all but a few reasons, of which too little memory is none.
    vi.spyOn(cluster, 'fork').mockImplementation(() => {
      throw new Error('spawn ENOMEM');
    });
    const fork = forkWorker();
    expect([fork.pid, await fork.gone]).toEqual([undefined, 'spawn ENOMEM']);
    fork.channel.onMessage(() => undefined);
    fork.channel.send('nobody');
    fork.kill();
  });
});
