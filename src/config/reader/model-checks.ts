/** The rules of the catalog that look at more than one setting. They run whatever else is wrong with the file. */

import { contextTokensDefault } from '../schema/models.ts';
import type { Finding } from './finding.ts';
import { pathText, type SettingPath } from './setting-path.ts';
import { isMap, type SettingsTree } from './settings-tree.ts';
import { type Source, sourceText } from './source.ts';
import { didYouMean } from './suggestion.ts';

/** A model as it was written. What is not of the right kind is left to the schema. */
interface WrittenModel {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly engine?: unknown;
  readonly balance?: unknown;
  readonly defaultVoice?: unknown;
  readonly voices?: unknown;
  readonly contextTokens?: unknown;
  readonly outputTokensMax?: unknown;
}

interface Entry {
  readonly id: string;
  readonly written: WrittenModel;
  readonly path: SettingPath;
}

export function checkModels(tree: SettingsTree): Finding[] {
  const models = tree.get(['models']);
  if (!Array.isArray(models)) return [];
  const entries = models.flatMap((model: unknown, index) => entryOf(model, ['models', index]));
  return [
    ...repeatedIds(entries, tree),
    ...furtherTranscription(entries, tree),
    ...(tree.isSet(['models']) ? unknownEngines(entries, tree) : engineOfDefaults(entries, tree)),
    ...entries.flatMap((entry) => [
      ...repeatedEngines(entry, tree),
      ...balanceOfOne(entry, tree),
      ...unknownVoice(entry, tree),
      ...answerOverContext(entry, tree),
    ]),
  ];
}

function entryOf(model: unknown, path: SettingPath): Entry[] {
  if (!isMap(model)) return [];
  const written: WrittenModel = model;
  return typeof written.id === 'string' ? [{ id: written.id, written, path }] : [];
}

function repeatedIds(entries: readonly Entry[], tree: SettingsTree): Finding[] {
  const taken = new Map<string, Source>();
  const findings: Finding[] = [];
  for (const { id, path } of entries) {
    const setting = [...path, 'id'];
    const source = tree.valueSource(setting);
    const first = taken.get(id);
    if (first === undefined) taken.set(id, source);
    else {
      const message = `The id \`${id}\` is taken by the model at ${sourceText(first)}. Give one of them another id.`;
      findings.push({ source, setting: pathText(setting), message });
    }
  }
  return findings;
}

function furtherTranscription(entries: readonly Entry[], tree: SettingsTree): Finding[] {
  const [active, ...others] = entries.filter(({ written }) => written.type === 'transcription');
  if (active === undefined) return [];
  const at = sourceText(tree.valueSource([...active.path, 'type']));
  return others.map(({ id, path }) => ({
    source: tree.valueSource([...path, 'type']),
    setting: pathText([...path, 'type']),
    message:
      `\`${id}\` is a second transcription model. Exactly one is active and serves every transcription; ` +
      `\`${active.id}\` at ${at} is it already. Keep one of them.`,
  }));
}

function unknownEngines(entries: readonly Entry[], tree: SettingsTree): Finding[] {
  const engines = engineNames(tree);
  if (engines === undefined) return [];
  return entries.flatMap((entry) =>
    namedEngines(entry)
      .filter(({ name }) => !engines.includes(name))
      .map(({ name, path }) => ({
        source: tree.valueSource(path),
        setting: pathText(path),
        message: `There is no engine \`${name}\` for the model \`${entry.id}\`. ${listed(engines)}`,
        suggestion: didYouMean(name, engines),
      })),
  );
}

interface NamedEngine {
  readonly name: string;
  readonly path: SettingPath;
}

function namedEngines({ written: { engine }, path }: Entry): NamedEngine[] {
  const setting = [...path, 'engine'];
  if (typeof engine === 'string') return [{ name: engine, path: setting }];
  if (!Array.isArray(engine)) return [];
  return engine.flatMap((name: unknown, index) =>
    typeof name === 'string' ? { name, path: [...setting, index] } : [],
  );
}

/** Twice in one list would only ask the same engine again. */
function repeatedEngines(entry: Entry, tree: SettingsTree): Finding[] {
  const named = namedEngines(entry);
  return named
    .filter(({ name }, index) => named.findIndex((other) => other.name === name) < index)
    .map(({ name, path }) => ({
      source: tree.valueSource(path),
      setting: pathText(path),
      message: `The engine \`${name}\` is in the list of the model \`${entry.id}\` already. Keep it once.`,
    }));
}

function balanceOfOne({ id, written, path }: Entry, tree: SettingsTree): Finding[] {
  if (written.balance === undefined || Array.isArray(written.engine)) return [];
  const setting = [...path, 'balance'];
  const message = `\`balance\` is about several engines, but the model \`${id}\` has one. Write \`engine\` as a list, or leave \`balance\` out.`;
  return [{ source: tree.nameSource(setting), setting: pathText(setting), message }];
}

/** Where the file names its own engines but no models, the finding belongs to the engines. */
function engineOfDefaults(entries: readonly Entry[], tree: SettingsTree): Finding[] {
  const engines = engineNames(tree);
  const missing = entries
    .map(({ written }) => String(written.engine))
    .find((engine) => !engines?.includes(engine));
  if (missing === undefined || engines === undefined) return [];
  const message = `The models that are there by default need an engine \`${missing}\`. ${listed(engines)} Add it, or write \`models\`.`;
  return [{ source: tree.nameSource(['engines']), setting: 'engines', message }];
}

function engineNames(tree: SettingsTree): string[] | undefined {
  const engines = tree.get(['engines']);
  return isMap(engines) ? Object.keys(engines) : undefined;
}

function listed(engines: readonly string[]): string {
  return engines.length === 0 ? '`engines` is empty.' : `\`engines\` has: ${engines.join(', ')}.`;
}

function unknownVoice({ id, written, path }: Entry, tree: SettingsTree): Finding[] {
  const { defaultVoice, voices } = written;
  if (typeof defaultVoice !== 'string' || !isMap(voices) || defaultVoice in voices) return [];
  const names = Object.keys(voices);
  const setting = [...path, 'defaultVoice'];
  return [
    {
      source: tree.valueSource(setting),
      setting: pathText(setting),
      message: `\`${defaultVoice}\` is none of the voices of the model \`${id}\`: ${names.join(', ')}.`,
      suggestion: didYouMean(defaultVoice, names),
    },
  ];
}

function answerOverContext({ id, written, path }: Entry, tree: SettingsTree): Finding[] {
  const { outputTokensMax, contextTokens = contextTokensDefault } = written;
  if (typeof outputTokensMax !== 'number' || typeof contextTokens !== 'number') return [];
  if (outputTokensMax <= contextTokens) return [];
  const setting = [...path, 'outputTokensMax'];
  const message = `An answer of \`${id}\` may have ${outputTokensMax} tokens, more than the ${contextTokens} of its \`contextTokens\`.`;
  return [{ source: tree.valueSource(setting), setting: pathText(setting), message }];
}
