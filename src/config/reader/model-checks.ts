/** Rules of the catalog that involve more than one setting. They run even if the schema refuses other settings. */

import { didYouMean } from '../../core/values/suggestion.ts';
import { contextTokensDefault } from '../schema/models.ts';
import { sourceText } from './finding.ts';
import { isMap, type SettingPath, type SettingsTree } from './settings-tree.ts';

/** A model before validation. The schema refuses values of the wrong type; these rules ignore them. */
interface WrittenModel {
  readonly id: string;
  readonly path: SettingPath;
  readonly type?: unknown;
  readonly engine?: unknown;
  readonly balance?: unknown;
  readonly defaultVoice?: unknown;
  readonly voices?: unknown;
  readonly contextTokens?: unknown;
  readonly outputTokensMax?: unknown;
}

/** Adds a finding to the tree for each broken rule. */
export function checkModels(tree: SettingsTree): void {
  const written = tree.get(['models']);
  if (!Array.isArray(written)) return;
  const models = written.flatMap((model: unknown, index): WrittenModel[] =>
    isMap(model) && typeof model['id'] === 'string'
      ? [{ ...model, id: model['id'], path: ['models', index] }]
      : [],
  );
  refuseRepeatedIds(models, tree);
  refuseSecondTranscription(models, tree);
  refuseUnknownEngines(models, tree);
  for (const model of models) {
    refuseRepeatedEngines(model, tree);
    refuseBalanceOfOne(model, tree);
    refuseUnknownVoice(model, tree);
    refuseOutputOverContext(model, tree);
  }
}

function refuseRepeatedIds(models: readonly WrittenModel[], tree: SettingsTree): void {
  const firsts = new Map<string, SettingPath>();
  for (const { id, path } of models) {
    const setting = [...path, 'id'];
    const first = firsts.get(id);
    if (first === undefined) firsts.set(id, setting);
    else {
      const place = sourceText(tree.valueSource(first));
      tree.refuse(
        setting,
        `The model at ${place} has the id \`${id}\` already. Give one of them another id.`,
      );
    }
  }
}

function refuseSecondTranscription(models: readonly WrittenModel[], tree: SettingsTree): void {
  const [active, ...others] = models.filter(({ type }) => type === 'transcription');
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
    namedEngines(model)
      .filter(({ name }) => !names.includes(name))
      .map((engine) => ({ model, ...engine })),
  );
  if (!tree.isSet(['models'])) {
    // The file names its engines but no models: the finding belongs to the engines.
    const [first] = unknown;
    if (first === undefined) return;
    const message = `The default models need an engine \`${first.name}\`. ${listed} Add it, or write \`models\`.`;
    tree.refuseName(['engines'], message);
    return;
  }
  for (const { model, name, path } of unknown) {
    tree.refuse(path, `There is no engine \`${name}\` for the model \`${model.id}\`. ${listed}`, {
      suggestion: didYouMean(name, names),
    });
  }
}

interface NamedEngine {
  readonly name: string;
  readonly path: SettingPath;
}

function namedEngines({ engine, path }: WrittenModel): NamedEngine[] {
  const setting = [...path, 'engine'];
  if (typeof engine === 'string') return [{ name: engine, path: setting }];
  if (!Array.isArray(engine)) return [];
  return engine.flatMap((name: unknown, index) =>
    typeof name === 'string' ? { name, path: [...setting, index] } : [],
  );
}

function refuseRepeatedEngines(model: WrittenModel, tree: SettingsTree): void {
  const seen = new Set<string>();
  for (const { name, path } of namedEngines(model)) {
    if (seen.has(name)) {
      const message = `The engine \`${name}\` is in the list of the model \`${model.id}\` already. Keep it once.`;
      tree.refuse(path, message);
    }
    seen.add(name);
  }
}

function refuseBalanceOfOne({ id, balance, engine, path }: WrittenModel, tree: SettingsTree): void {
  if (balance === undefined || Array.isArray(engine)) return;
  const message = `\`balance\` needs several engines, but the model \`${id}\` has one. Write \`engine\` as a list, or leave \`balance\` out.`;
  tree.refuseName([...path, 'balance'], message);
}

function refuseUnknownVoice({ id, defaultVoice, voices, path }: WrittenModel, tree: SettingsTree): void {
  if (typeof defaultVoice !== 'string' || !isMap(voices) || defaultVoice in voices) return;
  const names = Object.keys(voices);
  const message = `The model \`${id}\` has no voice \`${defaultVoice}\`. \`voices\` has: ${names.join(', ')}.`;
  tree.refuse([...path, 'defaultVoice'], message, { suggestion: didYouMean(defaultVoice, names) });
}

/** Whether the context comes from the server of an engine. */
function isToldContext(model: WrittenModel, tree: SettingsTree): boolean {
  return namedEngines(model).some(({ name }) => tree.get(['engines', name, 'kind']) === 'openai');
}

function refuseOutputOverContext(model: WrittenModel, tree: SettingsTree): void {
  const { id, outputTokensMax, path } = model;
  const contextTokens =
    model.contextTokens ?? (isToldContext(model, tree) ? undefined : contextTokensDefault);
  if (typeof outputTokensMax !== 'number' || typeof contextTokens !== 'number') return;
  if (outputTokensMax <= contextTokens) return;
  const message = `An answer of \`${id}\` may have ${outputTokensMax} tokens, more than the ${contextTokens} of its \`contextTokens\`.`;
  tree.refuse([...path, 'outputTokensMax'], message);
}
