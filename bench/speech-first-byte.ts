/**
 * How soon a text of 4,000 characters is heard, and how free the server stays meanwhile: the first byte and the whole of
 * an mp3 over HTTP, beside the engine's own time for the first piece and for all of them, in one run.
 *
 *   node bench/speech-first-byte.ts [runs, default 5]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { create } from '@bufbuild/protobuf';
import * as pb from '../gen/parley/admin/v1/admin_pb.ts';
import { createApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { cliCall } from '../src/core/call.ts';
import { compileFlite } from '../src/engines/builtin/flite/module.ts';
import { cutIntoPieces } from '../src/engines/builtin/flite/pieces.ts';
import { speakableText } from '../src/engines/builtin/flite/speakable-text.ts';
import { synthesizePiece } from '../src/engines/builtin/flite/synthesis.ts';

const runs = Number(process.argv[2] ?? 5);
const voice = 'rms';
const sentences = [
  'The harbour was quiet when the first boats came in before dawn.',
  'Nobody had slept, and the lamps along the quay were still burning.',
  'A boy counted the crates aloud, one after another, while his father signed for them.',
  'By noon the wind had turned, and with it the mood of everyone who lived from the sea.',
];
const text = Array.from({ length: 60 }, (_, index) => sentences[index % sentences.length])
  .join(' ')
  .slice(0, 4000);

interface Timed {
  readonly firstMs: number;
  readonly totalMs: number;
}

/** The engine alone, on this thread: its time for the first piece and for all. */
async function engineAlone(): Promise<Timed> {
  const module = await compileFlite();
  const pieces = cutIntoPieces(speakableText(text));
  const startedAt = performance.now();
  let firstMs = 0;
  for (const piece of pieces) {
    synthesizePiece(module, { voice, text: piece.text });
    firstMs ||= performance.now() - startedAt;
  }
  return { firstMs, totalMs: performance.now() - startedAt };
}

async function overHttp(baseUrl: string, key: string): Promise<Timed> {
  const body = JSON.stringify({ model: 'flite', voice, input: text });
  const startedAt = performance.now();
  const response = await fetch(`${baseUrl}/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  const firstMs = performance.now() - startedAt;
  while (!(await reader?.read())?.done);
  return { firstMs, totalMs: performance.now() - startedAt };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function row(name: string, timed: Timed[]): string {
  const first = timed.map(({ firstMs }) => firstMs);
  const total = timed.map(({ totalMs }) => totalMs);
  const cells = [median(first), Math.min(...first), Math.max(...first), median(total)];
  return `${name.padEnd(28)}${cells.map((ms) => `${ms.toFixed(0)} ms`.padStart(12)).join('')}`;
}

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// The engine alone blocks this process for seconds, over which no idle connection should be lost.
const overrides = { server: { port: 0, keepAliveMs: 600_000 }, dataDir, log: { level: 'warn' } };
const app = await createApp(loadConfig({ env: {}, overrides }));
const { admin } = app.services;
await admin.createAccount(create(pb.CreateAccountRequestSchema, { name: 'bench' }), cliCall);
await admin.startTrial(create(pb.StartTrialRequestSchema, { accountId: 'bench' }), cliCall);
const { secret } = await admin.createKey(
  create(pb.CreateKeyRequestSchema, { accountId: 'bench', name: 'bench' }),
  cliCall,
);

const cold = await overHttp(app.baseUrl, secret);
const alone: Timed[] = [];
const served: Timed[] = [];
const delay = monitorEventLoopDelay({ resolution: 5 });
for (let run = 0; run < runs; run++) {
  alone.push(await engineAlone());
  delay.enable();
  served.push(await overHttp(app.baseUrl, secret));
  delay.disable();
}

const print = (line: string) => process.stdout.write(`${line}\n`);
print(`4,000 characters, voice ${voice}, mp3, ${runs} runs in turn\n`);
print(`${''.padEnd(28)}${['first', 'min', 'max', 'whole'].map((head) => head.padStart(12)).join('')}`);
print(row('engine alone, one thread', alone));
print(row('Parley over HTTP, warm', served));
print(row('Parley over HTTP, cold', [cold]));
const ratio = median(served.map(({ firstMs }) => firstMs)) / median(alone.map(({ totalMs }) => totalMs));
print(`\nfirst byte / the engine's whole text: ${ratio.toFixed(3)}`);
print(
  `event loop delay while speaking: p50 ${(delay.percentile(50) / 1e6 - 5).toFixed(1)} ms, p99 ${(delay.percentile(99) / 1e6 - 5).toFixed(1)} ms`,
);
await app.close();
rmSync(dataDir, { recursive: true });
