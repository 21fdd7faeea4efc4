/** Rules of the catalog that involve more than one setting. They run even if the schema refuses other settings. */

import { didYouMean } from '../../core/values/suggestion.ts';
import { contextTokensDefault } from '../schema/models.ts';
import { sourceText } from './finding.ts';
import { isMap, type SettingPath, type SettingsMap } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

/** A model before validation. The schema refuses values of the wrong type; these rules ignore them. */
interface WrittenModel {
  readonly id: string;
  readonly path: SettingPath;
  readonly settings: SettingsMap;
  readonly engines: readonly NamedEngine[];
}

interface NamedEngine {
  readonly name: string;
  readonly path: SettingPath;
}

/** Adds a finding to the tree for each broken rule. */
export function checkModels(tree: SettingsTree): void {
  const written = tree.get(['models']);
  const models = (Array.isArray(written) ? written : []).flatMap(writtenModel);
  refuseSecondTranscription(models, tree);
  refuseUnknownEngines(models, tree);
  const firsts = new Map<string, WrittenModel>();
  for (const model of models) {
    const first = firsts.get(model.id);
    if (first === undefined) firsts.set(model.id, model);
    else refuseRepeatedId(model, first, tree);
    refuseRepeatedEngines(model, tree);
    refuseBalanceOfOne(model, tree);
    refuseUnknownVoice(model, tree);
    refuseOutputOverContext(model, tree);
  }
}

function writtenModel(settings: unknown, index: number): WrittenModel[] {
  if (!isMap(settings) || typeof settings['id'] !== 'string') return [];
  const path = ['models', index];
  const { id, engine } = settings;
  const named = (name: unknown, at: SettingPath) => (typeof name === 'string' ? [{ name, path: at }] : []);
  const engines = Array.isArray(engine)
    ? engine.flatMap((name, position) => named(name, [...path, 'engine', position]))
    : named(engine, [...path, 'engine']);
  return [{ id, path, settings, engines }];
}

function refuseRepeatedId({ id, path }: WrittenModel, first: WrittenModel, tree: SettingsTree): void {
  const place = sourceText(tree.valueSource([...first.path, 'id']));
  const message = `The model at ${place} has the id \`${id}\` already. Give one of them another id.`;
  tree.refuse([...path, 'id'], message);
}

function refuseSecondTranscription(models: readonly WrittenModel[], tree: SettingsTree): void {
  const [active, ...others] = models.filter(({ settings }) => settings['type'] === 'transcription');
  if (active === undefined) return;
  const place = sourceText(tree.valueSource([...active.path, 'type']));
  for (const { id, path } of others) {
    const message =
      `\`${id}\` is a second transcription model. Exactly one is active and serves every transcription: ` +
      `\`${active.id}\` at ${place}. Keep one of them.`;
    tree.refuse([...path, 'type'], message);
  }
}

function refuseUnknownEngines(models: readonly WrittenModel[], tree: SettingsTree): void {
  const engines = tree.get(['engines']);
  if (!isMap(engines)) return;
  const names = Object.keys(engines);
  const listed = names.length === 0 ? '`engines` is empty.' : `\`engines\` has: ${names.join(', ')}.`;
  const unknown = models.flatMap((model) =>
    model.engines.filter(({ name }) => !names.includes(name)).map((engine) => ({ ...engine, id: model.id })),
  );
  const [first] = unknown;
  if (first !== undefined && tree.sourceOf(['models']).kind === 'default') {
    // The file names its engines but no models: the finding belongs to the engines.
    const message = `The default models need an engine \`${first.name}\`. ${listed} Add it, or write \`models\`.`;
    tree.refuseName(['engines'], message);
    return;
  }
  for (const { id, name, path } of unknown) {
    tree.refuse(path, `There is no engine \`${name}\` for the model \`${id}\`. ${listed}`, {
      suggestion: didYouMean(name, names),
    });
  }
}

function refuseRepeatedEngines({ id, engines }: WrittenModel, tree: SettingsTree): void {
  for (const [index, { name, path }] of engines.entries()) {
    if (engines.findIndex((engine) => engine.name === name) === index) continue;
    tree.refuse(path, `The engine \`${name}\` is in the list of the model \`${id}\` already. Keep it once.`);
  }
}

function refuseBalanceOfOne({ id, path, settings }: WrittenModel, tree: SettingsTree): void {
  if (settings['balance'] === undefined || Array.isArray(settings['engine'])) return;
  const message = `\`balance\` needs several engines, but the model \`${id}\` has one. Write \`engine\` as a list, or leave \`balance\` out.`;
  tree.refuseName([...path, 'balance'], message);
}

function refuseUnknownVoice({ id, path, settings }: WrittenModel, tree: SettingsTree): void {
  const { defaultVoice, voices } = settings;
  if (typeof defaultVoice !== 'string' || !isMap(voices) || defaultVoice in voices) return;
  const names = Object.keys(voices);
  const message = `The model \`${id}\` has no voice \`${defaultVoice}\`. \`voices\` has: ${names.join(', ')}.`;
  tree.refuse([...path, 'defaultVoice'], message, { suggestion: didYouMean(defaultVoice, names) });
}

function refuseOutputOverContext({ id, path, settings, engines }: WrittenModel, tree: SettingsTree): void {
  // The server of an openai engine reports the context.
  const isReported = engines.some(({ name }) => tree.get(['engines', name, 'kind']) === 'openai');
  const { outputTokensMax, contextTokens = isReported ? undefined : contextTokensDefault } = settings;
  if (typeof outputTokensMax !== 'number' || typeof contextTokens !== 'number') return;
  if (outputTokensMax <= contextTokens) return;
  const message = `An answer of \`${id}\` may have ${outputTokensMax} tokens, more than the ${contextTokens} of its \`contextTokens\`.`;
  tree.refuse([...path, 'outputTokensMax'], message);
}
