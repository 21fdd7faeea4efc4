/** `parley models list`, with how the local models run on the server of their data folder, and `parley models available`. */
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { EngineState } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { catalogue } from '../../models/catalogue.ts';
import { bytesOf, type ModelManifest } from '../../models/manifest.ts';
import { type ModelEntry, ModelStore } from '../../models/model-store.ts';
import { readServerFile } from '../client/server-file.ts';
import { configOf } from '../configuration.ts';
import type { AdminFlags, JsonFlag } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { sizeText } from '../terminal/status-bar.ts';
import { type Column, table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';
import { timeText } from '../terminal/times.ts';

interface Listed extends ModelEntry {
  /** Undefined if no server runs, or it has no such model. */
  readonly engine: EngineState | undefined;
}

export async function listAvailable({ json }: JsonFlag): Promise<void> {
  const entries = catalogue().map((entry) => ({ ...entry, bytes: bytesOf(entry.manifest) }));
  if (json) {
    const models = entries.map(({ about, found, manifest, bytes }) => {
      return { ...manifestJson(manifest), about, bytes, hashes_found_in: Object.keys(found) };
    });
    return printJson({ models });
  }
  const about = { title: 'FOR', cell: (entry: (typeof entries)[number]) => entry.about };
  await printData(table(entries, [...described, licenceColumn, about]));
  printStatus('`parley models pull MODEL` brings one, and makes parley.yaml serve it.');
}

export async function listLocalModels(flags: AdminFlags & JsonFlag): Promise<void> {
  const { dataDir } = configOf(flags);
  const entries = new ModelStore(dataDir).list();
  const engines = entries.length === 0 ? undefined : await runningEngines(dataDir, flags);
  const models = entries.map((entry) => ({ ...entry, engine: engineOf(entry, engines ?? []) }));
  if (flags.json) return printJson({ models: models.map(modelJson) });
  if (models.length === 0) {
    return printStatus(
      'There are no local models. `parley models available` lists some that `parley models pull` brings; `add` and `import` take others.',
    );
  }
  await printData(table(models, [...columns, ...(engines === undefined ? [] : runningColumns)]));
}

/** Undefined without a server on the data folder, or if it does not answer. */
async function runningEngines(dataDir: string, flags: AdminFlags): Promise<EngineState[] | undefined> {
  const server = readServerFile(dataDir);
  if (server === undefined) return undefined;
  const { serverConnection } = await import('../client/admin-server.ts');
  try {
    const admin = serverConnection(flags, server.adminBaseUrl);
    return (await admin.invoke('getServerState', {})).engines;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    printStatus(`How the models run is not shown: ${error.message}`);
    return undefined;
  }
}

/** A model of several engines has a program for each: the one that runs is shown. */
function engineOf({ manifest }: ModelEntry, engines: readonly EngineState[]): EngineState | undefined {
  const own = engines.filter(
    ({ kind, name }) => kind === 'local' && name.slice(name.indexOf('/') + 1) === manifest.id,
  );
  return own.find(({ program }) => program !== undefined && program.state !== 'stopped') ?? own[0];
}

type Described = Pick<ModelEntry, 'manifest' | 'bytes'>;
const described: readonly Column<Described>[] = [
  { title: 'MODEL', cell: ({ manifest }) => manifest.id },
  { title: 'TYPE', cell: ({ manifest }) => manifest.type },
  { title: 'RUNTIME', cell: ({ manifest }) => manifest.runtime },
  { title: 'SIZE', cell: ({ bytes }) => sizeText(bytes), align: 'right' },
];
const licenceColumn: Column<Described> = { title: 'LICENCE', cell: ({ manifest }) => manifest.licence.name };

const columns: readonly Column<Listed>[] = [
  ...described,
  { title: 'MEMORY', cell: (model) => sizeText(memoryOf(model)), align: 'right' },
  licenceColumn,
  { title: 'FILES', cell: ({ isPulled }) => (isPulled ? 'present' : 'incomplete') },
];

const runningColumns: readonly Column<Listed>[] = [
  { title: 'STATE', cell: ({ engine }) => stateOf(engine) },
  { title: 'WAITING', cell: ({ engine }) => engine?.waiting.toString(), align: 'right' },
  {
    title: 'LAST USE (UTC)',
    cell: ({ engine }) => engine?.program?.lastUsedAt && timeText(engine.program.lastUsedAt),
  },
  { title: 'FAILURE', cell: ({ engine }) => engine?.program?.failure },
];

/** Measured while its program runs, else expected. */
function memoryOf({ memoryBytes, engine }: Listed): number {
  return Number(engine?.program?.memoryBytes) || memoryBytes;
}

function stateOf(engine: EngineState | undefined): string | undefined {
  return engine && (engine.program?.state ?? 'unusable');
}

function modelJson(model: Listed): JsonObject {
  const { manifest, bytes, memoryBytes, isPulled, engine } = model;
  return {
    ...manifestJson(manifest),
    bytes,
    memory_bytes: memoryBytes,
    complete: isPulled,
    running: engine === undefined ? null : runningJson(engine),
  };
}

function manifestJson({ id, type, runtime, licence, files }: ModelManifest): JsonObject {
  const { name, url = null } = licence;
  const facts = files.map(({ name, sha256, bytes }) => ({ name, sha256, bytes }));
  return { id, type, runtime, licence: { name, url }, files: facts };
}

function runningJson(engine: EngineState): JsonObject {
  const { name, waiting, program } = engine;
  return {
    engine: name,
    state: stateOf(engine) ?? null,
    memory_bytes: Number(program?.memoryBytes ?? 0),
    waiting,
    last_used_at: program?.lastUsedAt ? timestampDate(program.lastUsedAt).toISOString() : null,
    failure: program?.failure ?? null,
  };
}
