import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Runs a script in a network of its own, with a public address. */
const inNetwork = (script: string, env = {}) => {
  const setUp = 'ip link set lo up && ip addr add 93.184.216.34/32 dev lo && ';
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return spawnSync('unshare', ['--map-root-user', '--net', 'sh', '-c', setUp + script], options);
};
const noNetwork = inNetwork('true').status !== 0;

it.skipIf(noNetwork)(
  'follows a redirect to a public address without the token, and not from there to a private one',
  () => {
    const script = new URL('../support/redirecting-hosts.ts', import.meta.url).pathname;
    const command = `exec '${process.execPath}' '${script}'`;
    const { stdout } = inNetwork(command, { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' });
    expect(JSON.parse(stdout)).toEqual({
      content: 'the file',
      refusal: expect.stringMatching(
        /redirects to https:\/\/127\.0\.0\.1:\d+, which is not a public address\.$/,
      ),
      tokens: { '/away': 'Bearer secret', '/there-and-back': 'Bearer secret' },
    });
  },
);
