import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';

it('docs/sign-in.md has a valid configuration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  try {
    const [secret, file] = [join(folder, 'secret'), join(folder, 'parley.yaml')];
    const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/sign-in.md', 'utf8')) ?? [];
    writeFileSync(secret, 'of this client\n');
    writeFileSync(file, yaml.replace('/run/secrets/oidc-client-secret', secret));
    const { oidc, oidcSecret } = loadConfig({ env: {}, file });
    expect(oidc?.rules).toHaveLength(4);
    expect(oidcSecret?.reveal()).toBe('of this client');
    writeFileSync(file, yaml.replace('role: operator }', 'role: operator, account: acme }'));
    expect(() => loadConfig({ env: {}, file })).toThrow('an operator has none');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
