import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { hashKey } from '../../src/core/values/key-secret.ts';
import { openAccount } from '../servers/account.ts';

/** Opens accounts with credits, a plan and a key each. @returns the hashes of the keys */
export async function openAccounts(dataDir: string, count: number): Promise<string[]> {
  const overrides = { dataDir, server: { port: 0 }, log: { level: 'silent' } };
  const app = await createApp(loadConfig({ env: {}, overrides }));
  const secrets = await Promise.all(
    Array.from({ length: count }, (_, n) => openAccount(app, `account-${n}`)),
  );
  await app.close();
  return secrets.map(hashKey);
}
