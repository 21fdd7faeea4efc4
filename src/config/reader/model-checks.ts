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

/** Names in a message, and faults of a kind that are told at once: more are no help, and take time. */
const [namesMax, faultsMax] = [20, 50];

const listed = (names: readonly string[]) =>
  names.length > namesMax
    ? `${names.slice(0, namesMax).join(', ')} and ${names.length - namesMax} more`
    : names.join(', ');

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
    refuseChoiceOfOne(model, tree);
    refuseUnknownVoice(model, tree);
    refuseUnlistedVoices(model, tree);
    refuseUnusedModel(model, tree);
    refuseOutputOverContext(model, tree);
    refuseFallback(model, models, tree);
  }
  checkConversations(models, tree);
}

/** A conversation names models of the right types, and a voice that the speech model lists. */
function checkConversations(models: readonly WrittenModel[], tree: SettingsTree): void {
  const written = tree.get(['realtime']);
  const live = models.filter(({ settings }) => settings['liveOnly'] === true);
  const ids = new Set<unknown>();
  for (const [index, settings] of (Array.isArray(written) ? written : []).entries()) {
    if (!isMap(settings)) continue;
    const path = ['realtime', index];
    if (ids.has(settings['id'])) {
      tree.refuse([...path, 'id'], `Another conversation has the id \`${settings['id']}\` already.`);
    }
    ids.add(settings['id']);
    for (const type of ['transcription', 'chat', 'speech']) {
      const offered = type === 'transcription' && live.length > 0 ? live : models;
      if (typeof settings[type] === 'string')
        refuseOtherModel([...path, type], settings[type], type, offered, tree);
    }
    const speech = models.find(({ id }) => id === settings['speech'])?.settings ?? {};
    const { voice: defaultVoice } = settings;
    refuseUnknownVoice(
      { id: String(settings['speech']), path, settings: { ...speech, defaultVoice } },
      tree,
      'voice',
    );
  }
}

function refuseOtherModel(
  path: SettingPath,
  named: string,
  type: string,
  models: readonly WrittenModel[],
  tree: SettingsTree,
): void {
  const ids = models.filter(({ settings }) => settings['type'] === type).map(({ id }) => id);
  if (ids.includes(named)) return;
  const known = ids.length === 0 ? 'There is none.' : `There are: ${listed(ids)}.`;
  const message = `There is no ${type} model \`${named}\`. ${known}`;
  tree.refuse(path, message, { suggestion: didYouMean(named, ids) });
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
  const all = models.filter(({ settings }) => settings['type'] === 'transcription');
  for (const isLive of [false, true]) {
    const [first, ...others] = all.filter(({ settings }) => (settings['liveOnly'] === true) === isLive);
    if (first === undefined) continue;
    const place = sourceText(tree.valueSource([...first.path, 'type']));
    const rule = isLive ? 'Only one has `liveOnly`' : 'Exactly one is active and serves every transcription';
    for (const { id, path } of others) {
      const message = `\`${id}\` is a second transcription model. ${rule}: \`${first.id}\` at ${place}. Keep one of them${isLive ? '' : ', or let one of them have `liveOnly: true`'}.`;
      tree.refuse([...path, 'type'], message);
    }
  }
}

function refuseUnknownEngines(models: readonly WrittenModel[], tree: SettingsTree): void {
  const engines = tree.get(['engines']);
  if (!isMap(engines)) return;
  const names = Object.keys(engines);
  const known = names.length === 0 ? '`engines` is empty.' : `\`engines\` has: ${listed(names)}.`;
  const unknown = models.flatMap((model) =>
    model.engines.filter(({ name }) => !names.includes(name)).map((engine) => ({ ...engine, id: model.id })),
  );
  const [first] = unknown;
  if (first !== undefined && tree.sourceOf(['models']).kind === 'default') {
    // The file names its engines but no models: the finding belongs to the engines.
    const message = `The default models need an engine \`${first.name}\`. ${known} Add it, or write \`models\`.`;
    tree.refuseName(['engines'], message);
    return;
  }
  for (const { id, name, path } of unknown.slice(0, faultsMax)) {
    tree.refuse(path, `There is no engine \`${name}\` for the model \`${id}\`. ${known}`, {
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

function refuseChoiceOfOne({ id, path, settings }: WrittenModel, tree: SettingsTree): void {
  if (Array.isArray(settings['engine'])) return;
  if (settings['balance'] === undefined) return;
  const message = `\`balance\` needs several engines, but the model \`${id}\` has one. Write \`engine\` as a list, or leave \`balance\` out.`;
  tree.refuseName([...path, 'balance'], message);
}

function refuseUnknownVoice(
  { id, path, settings }: Pick<WrittenModel, 'id' | 'path' | 'settings'>,
  tree: SettingsTree,
  setting = 'defaultVoice',
): void {
  const { defaultVoice, voices } = settings;
  if (typeof defaultVoice !== 'string' || !isMap(voices) || defaultVoice in voices) return;
  const names = Object.keys(voices);
  const message = `The model \`${id}\` has no voice \`${defaultVoice}\`. \`voices\` has: ${listed(names)}.`;
  tree.refuse([...path, setting], message, { suggestion: didYouMean(defaultVoice, names) });
}

/** A program that is started on demand is not asked for its voices. */
function refuseUnlistedVoices({ id, settings, engines }: WrittenModel, tree: SettingsTree): void {
  if (settings['type'] !== 'speech') return;
  for (const { name, path } of engines) {
    const voices = tree.get(['engines', name, 'voices']);
    const isProgram = tree.get(['engines', name, 'kind']) === 'process';
    if (!isProgram || (isMap(voices) && Object.keys(voices).length > 0)) continue;
    const message = `The engine \`${name}\` of the speech model \`${id}\` needs \`voices\`, each with its language: {af_heart: en-US}.`;
    tree.refuse(path, message);
  }
}

function refuseUnusedModel({ id, path, settings, engines }: WrittenModel, tree: SettingsTree): void {
  const isUsed = engines.some(({ name }) => tree.get(['engines', name, 'kind']) === 'local');
  if (settings['model'] === undefined || isUsed) return;
  const message = `\`model\` is for engines of the kind \`local\`, and \`${id}\` has none.`;
  tree.refuseName([...path, 'model'], message);
}

function refuseFallback(model: WrittenModel, models: readonly WrittenModel[], tree: SettingsTree): void {
  const { id, path, settings } = model;
  for (const setting of ['fallbackOn', 'fallbackPrice']) {
    if (settings[setting] === undefined || settings['fallback'] !== undefined) continue;
    tree.refuseName(
      [...path, setting],
      `\`${setting}\` needs \`fallback\`, which the model \`${id}\` does not have.`,
    );
  }
  const others = fallbacksOf(model);
  for (const [index, other] of others.entries()) {
    const at = [...path, 'fallback', index];
    if (other === id) tree.refuse(at, `The model \`${id}\` falls back to itself. Name another one.`);
    else if (others.indexOf(other) < index) {
      tree.refuse(at, `\`${other}\` is in the list of the model \`${id}\` already. Keep it once.`);
    } else refuseOtherModel(at, other, 'chat', models, tree);
  }
  const cycle = cycleOf(id, models);
  if (cycle.length > 2) {
    const way = cycle.map((one) => `\`${one}\``).join(' to ');
    tree.refuse([...path, 'fallback'], `These models fall back to each other: ${way}. Remove one of them.`);
  }
}

function fallbacksOf(model: WrittenModel | undefined): string[] {
  const written = model?.settings['fallback'];
  return Array.isArray(written) ? written.filter((id) => typeof id === 'string') : [];
}

/** The way from a model over fallbacks to itself; empty if there is none. */
function cycleOf(id: string, models: readonly WrittenModel[]): string[] {
  const ways = [[id]];
  const seen = new Set<string>();
  for (const way of ways) {
    const last = models.find((model) => model.id === way.at(-1));
    for (const next of fallbacksOf(last)) {
      if (next === id) return [...way, next];
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return [];
}

function refuseOutputOverContext({ id, path, settings, engines }: WrittenModel, tree: SettingsTree): void {
  // The server of such an engine reports the context.
  const isReported = engines.some(({ name }) =>
    ['anthropic', 'openai', 'remote'].includes(String(tree.get(['engines', name, 'kind']))),
  );
  const { outputTokensMax, contextTokens = isReported ? undefined : contextTokensDefault } = settings;
  if (typeof outputTokensMax !== 'number' || typeof contextTokens !== 'number') return;
  if (outputTokensMax <= contextTokens) return;
  const message = `An answer of \`${id}\` may have ${outputTokensMax} tokens, more than the ${contextTokens} of its \`contextTokens\`.`;
  tree.refuse([...path, 'outputTokensMax'], message);
}
