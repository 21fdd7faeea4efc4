/** A server of the table whose engines are another such server. Nobody else calls that one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Parley, startParley } from '../support/parley.ts';
import type { ServerName } from './case.ts';
import { type RunningTarget, serverOptions, targetOf, trialUnits } from './servers.ts';

/** The calls of the outer server to the inner one. */
export type RelayKind = 'remote' | 'openai';

/** The inner server has no limits and no prices, as the table checks those of the outer server. */
const plenty = { credits: '1000000', units: 1_000_000_000_000 };
const readyMsMax = 120_000;

export async function startRelay(name: ServerName, kind: RelayKind): Promise<RunningTarget> {
  const { settings: _, file: __, ...engines } = serverOptions[name]();
  const inner = await startParley({
    ...engines,
    settings: { fairUse: { trialUnitsPerMonth: plenty.units } },
  });
  const folder = mkdtempSync(join(tmpdir(), 'parley-relay-'));
  const apiKeyFile = join(folder, 'key');
  writeFileSync(apiKeyFile, await inner.newKey({ trial: true, credits: plenty.credits }));
  const outer = await startParley({
    settings: { ...outerSettings[name], engines: { inner: { ...wayTo(inner, kind), apiKeyFile } } },
  });
  rmSync(folder, { recursive: true });
  await untilItKnowsItsVoices(outer);
  const target = targetOf(outer);
  const close = async () => {
    await target.close();
    await inner.close();
  };
  return { ...target, close };
}

function wayTo({ baseUrl }: Parley, kind: RelayKind) {
  return { kind, baseUrl };
}

const price = { input: 0.1, output: 0.4 };
const speech = { id: 'flite', type: 'speech', engine: 'inner' };
const transcription = { id: 'pocketsphinx', type: 'transcription', engine: 'inner' };
const chat = { id: 'eliza', type: 'chat', engine: 'inner', price };
const models = [speech, transcription, chat];

/** The settings of each server without another one behind it. */
const outerSettings: Readonly<Record<ServerName, object>> = {
  builtin: { models },
  playing: { models, fairUse: { trialUnitsPerMonth: trialUnits } },
  strict: { models: [speech, chat], server: { requestMsMax: 2_000 } },
};

async function untilItKnowsItsVoices({ call }: Parley): Promise<void> {
  const deadline = Date.now() + readyMsMax;
  for (;;) {
    const { data } = (await (await call('/models?type=speech')).json()) as { data: unknown[] };
    if (data.length > 0) return;
    if (Date.now() > deadline) throw new Error('the outer server has not heard of its voices');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
