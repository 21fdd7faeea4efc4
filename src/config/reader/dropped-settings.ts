/** Settings of earlier versions. A configuration file that has one still starts, with a warning. */

import { sourceText } from './finding.ts';
import { isMap, pathText, type SettingPath, type SettingsMap } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

const pause = 'A response of a program may pause for a minute.';

/** The path, with the kind of an engine in place of its name, and how the server works without the setting. */
export const dropped: readonly (readonly [path: string, instead: string])[] = [
  ['programs.memoryWaitMs', 'Requests wait for a minute while other programs keep the memory.'],
  ['programs.socketDir', 'The sockets are in `sockets` in the data folder.'],
  ['engines.local.pauseMs', pause],
  ['engines.process.pauseMs', pause],
  ['engines.remote.tlsCa', 'Name a file of certificate authorities with the variable NODE_EXTRA_CA_CERTS.'],
  ['engines.remote.tlsName', 'The certificate must have the name in `baseUrl`.'],
  ['engines.remote.connectionsMax', '`callsMax` bounds the calls at once.'],
  ['engines.remote.keepaliveMs', '`idleMs` bounds the pauses of an answer.'],
  ['engines.remote.catalogEveryMs', '`voicesEveryMs` says how often its voices are read again.'],
  ['models.*.weights', 'The engines of a model have equal shares.'],
  ['models.*.affinity', '`balance: sticky` gives an account the same engine.'],
];

/** Removes dropped settings from the tree, with a warning for each. */
export function dropSettings(tree: SettingsTree): void {
  const { programs, engines, models } = tree.root;
  const list = Array.isArray(models) ? [...models.entries()] : [];
  const groups: readonly (readonly [SettingPath, unknown, string])[] = [
    [['programs'], programs, 'programs'],
    ...Object.entries(isMap(engines) ? engines : {}).map(
      ([name, engine]) =>
        [['engines', name], engine, `engines.${isMap(engine) ? engine['kind'] : ''}`] as const,
    ),
    ...list.map(([index, model]) => [['models', index], model, 'models.*'] as const),
  ];
  for (const [path, group, place] of groups) {
    if (!isMap(group)) continue;
    if (place === 'engines.remote') replaceAddress(group, path, tree);
    if (place === 'models.*') replaceBalance(group, path, tree);
    for (const [setting, instead] of dropped) {
      const name = setting.slice(place.length + 1);
      if (setting !== `${place}.${name}` || !Object.hasOwn(group, name)) continue;
      warn([...path, name], `has no effect any more. ${instead}`, tree);
      delete group[name];
    }
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
