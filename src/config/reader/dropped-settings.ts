/** Settings of earlier versions. A configuration file that has one still starts, with a warning. */

import { sourceText } from './finding.ts';
import { isMap, pathText, type SettingPath, type SettingsMap } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

/** A sentence that says how the server works without the setting. */
type Instead = string;

const tlsFiles = 'Name a file of certificate authorities with the variable NODE_EXTRA_CA_CERTS.';

const pause = 'A response of a program may pause for a minute.';

/** By the kind of the engine. */
const ofEngines: Readonly<Record<string, Readonly<Record<string, Instead>>>> = {
  local: { pauseMs: pause },
  process: { pauseMs: pause },
  remote: {
    tlsCa: tlsFiles,
    tlsName: 'The certificate must have the name in `baseUrl`.',
    connectionsMax: '`callsMax` bounds the calls at once.',
    keepaliveMs: '`idleMs` bounds the pauses of an answer.',
    catalogEveryMs: '`voicesEveryMs` says how often its voices are read again.',
  },
};

const ofPrograms: Readonly<Record<string, Instead>> = {
  socketDir: 'The sockets are in `sockets` in the data folder.',
  memoryWaitMs: 'Requests wait for a minute while other programs keep the memory.',
};

const ofModels: Readonly<Record<string, Instead>> = {
  weights: 'The engines of a model have equal shares.',
  affinity: '`balance: sticky` gives an account the same engine.',
};

/** Removes dropped settings from the tree, with a warning for each. */
export function dropSettings(tree: SettingsTree): void {
  const { engines, models, programs } = tree.root;
  if (isMap(programs)) drop(programs, ['programs'], ofPrograms, tree);
  for (const [name, engine] of Object.entries(isMap(engines) ? engines : {})) {
    if (!isMap(engine)) continue;
    const path = ['engines', name];
    if (engine['kind'] === 'remote') replaceAddress(engine, path, tree);
    drop(engine, path, ofEngines[String(engine['kind'])] ?? {}, tree);
  }
  for (const [index, model] of (Array.isArray(models) ? models : []).entries()) {
    if (!isMap(model)) continue;
    const path = ['models', index];
    replaceBalance(model, path, tree);
    drop(model, path, ofModels, tree);
  }
}

function drop(
  settings: SettingsMap,
  path: SettingPath,
  dropped: Readonly<Record<string, Instead>>,
  tree: SettingsTree,
): void {
  for (const [name, instead] of Object.entries(dropped)) {
    if (settings[name] === undefined) continue;
    warn([...path, name], `has no effect any more. ${instead}`, tree);
    delete settings[name];
  }
}

function warn(path: SettingPath, words: string, tree: SettingsTree): void {
  tree.warnings.push(`${sourceText(tree.nameSource(path))}: \`${pathText(path)}\` ${words}`);
}

const grpcAddress = /^(?:dns:(?:\/\/\/)?|ipv4:|ipv6:)?([^\s/,]+)(,\S+)?$/;

/** Makes `baseUrl` of the `address` and `tls` of earlier versions, which called other Parleys over gRPC. */
function replaceAddress(engine: SettingsMap, path: SettingPath, tree: SettingsTree): void {
  const { address, tls } = engine;
  const [, host, others] = (typeof address === 'string' && grpcAddress.exec(address)) || [];
  if (host === undefined || engine['baseUrl'] !== undefined) return;
  const baseUrl = `${tls === true ? 'https' : 'http'}://${host}/api/v1`;
  const rest = others && ' The other addresses are not called: name an engine for each of them.';
  warn(
    [...path, 'address'],
    `is replaced by \`baseUrl: ${baseUrl}\`. Write that instead.${rest ?? ''}`,
    tree,
  );
  const source = tree.valueSource([...path, 'address']);
  delete engine['address'];
  delete engine['tls'];
  tree.set([...path, 'baseUrl'], baseUrl, source);
}

/** Makes `balance: sticky` of the balances and the affinity of earlier versions, which share requests out, too. */
function replaceBalance(model: SettingsMap, path: SettingPath, tree: SettingsTree): void {
  const isShared = ['round-robin', 'least-busy'].includes(String(model['balance']));
  if (!isShared && model['affinity'] !== 'account') return;
  const name = isShared ? 'balance' : 'affinity';
  warn([...path, name], 'is replaced by `balance: sticky`. Write that instead.', tree);
  delete model['affinity'];
  model['balance'] = 'sticky';
}
