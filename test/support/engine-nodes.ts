/** Servers that work for another one, all with the same account and key, like the machines of one operator. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { type App, createApp } from '../../src/app/create-app.ts';
import { type ConfigOverrides, loadConfig } from '../../src/config/config.ts';
import { cliCall } from '../../src/core/access/call.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';

interface NodeOptions {
  readonly engines?: Readonly<Record<string, EngineSet>>;
  /** Default: any free port. */
  readonly port?: number;
  /** Default: running requests are cut when the node is closed. */
  readonly drainMs?: number;
  readonly settings?: ConfigOverrides;
}

interface EngineNode {
  readonly port: number;
  readonly app: App;
  close(): Promise<void>;
}

const accountId = 'gateway';

export class EngineNodes {
  readonly #folder: string;
  readonly #open = new Set<EngineNode>();
  #started = 0;
  /** The key of an account on trial, with credits. */
  readonly apiKey: string;

  private constructor(apiKey: string, folder: string) {
    this.#folder = folder;
    this.apiKey = apiKey;
  }

  static async prepare(): Promise<EngineNodes> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-nodes-'));
    const app = await createApp(configOf(join(folder, 'first'), {}));
    const { accounts } = app.services;
    await accounts.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
    await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
    const load = { accountId, amount: '1000', reason: 'test', idempotencyKey: 'test' };
    await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
    const request = create(pb.CreateKeyRequestSchema, { accountId, name: accountId });
    const { secret } = await accounts.createKey(request, cliCall);
    await app.close();
    return new EngineNodes(secret, folder);
  }

  async start(options: NodeOptions = {}): Promise<EngineNode> {
    const dataDir = this.newDataDir();
    const { engines } = options;
    const app = await createApp(configOf(dataDir, options), engines && { engines });
    const node: EngineNode = {
      app,
      port: Number(new URL(app.baseUrl).port),
      close: async () => {
        if (this.#open.delete(node)) await app.close();
      },
    };
    this.#open.add(node);
    return node;
  }

  /** A data folder with the account and its key. */
  newDataDir(): string {
    const dataDir = join(this.#folder, `node-${++this.#started}`);
    cpSync(join(this.#folder, 'first'), dataDir, { recursive: true });
    return dataDir;
  }

  /** Closes all nodes, including those that a test left open. */
  async remove(): Promise<void> {
    await Promise.all([...this.#open].map((node) => node.close()));
    rmSync(this.#folder, { recursive: true });
  }
}

function configOf(dataDir: string, { port = 0, drainMs = 0, settings }: NodeOptions) {
  const server = { port, drainMs, ...(settings?.['server'] as object | undefined) };
  return loadConfig({
    env: {},
    file: undefined,
    overrides: { ...settings, server, dataDir, log: { level: 'silent' } },
  });
}
