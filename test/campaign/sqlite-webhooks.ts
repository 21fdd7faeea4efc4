import { readFileSync, writeFileSync } from 'node:fs';
import { type Serving, scratchFolder, serve } from '../support/command-line.ts';
import type { Scenario } from './scenario.ts';
import { playWebhooks, webhookSettings } from './webhooks.ts';

export const sqliteWebhooks: Scenario = {
  async play(round) {
    const folder = scratchFolder();
    round.defer(() => folder.remove());
    writeFileSync(folder.file('parley.yaml'), JSON.stringify(webhookSettings));
    const running: Serving[] = [];
    round.defer(() => running[0]?.end());
    const start = () => serve(['--data-dir', folder.file('data'), '--demo'], { cwd: folder.path });
    running.push(await start());
    const { adminKey } = JSON.parse(readFileSync(folder.file('data/first-run.json'), 'utf8'));
    return playWebhooks(round, { adminKey, running, start });
  },
};
