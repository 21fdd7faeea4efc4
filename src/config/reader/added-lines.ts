/** Engines and models that an operator wants to add to the configuration file, as lines of YAML. */
import { ConfigFile } from './config-file.ts';
import { type ConfigError, type Finding, findingText, findingWords, type Source } from './finding.ts';
import { isMap, pathText, type SettingPath, type SettingsMap } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

/** A finding about added lines. */
export interface AddedFinding {
  /** The setting, as a path in the lines; undefined if the finding concerns the rest of the configuration. */
  readonly setting: string | undefined;
  readonly message: string;
}

/** Far more than an engine and its models have, and few enough to compare them with each other while requests wait. */
const valuesMax = 2_000;

const linesSource: Source = { kind: 'file', file: 'these lines', line: 1, column: 1 };

export class AddedLines {
  readonly #settings: SettingsMap;
  readonly #findings: readonly Finding[];
  /** The number of models of the file, which come first. */
  #modelsBefore = 0;

  /** @throws ConfigError if the text is not a map in YAML */
  constructor(text: string) {
    const { settings, findings } = new ConfigFile('these lines', text, valuesMax);
    this.#settings = settings;
    this.#findings = findings;
  }

  /** Adds the lines to the settings of the file, with a finding for each line that cannot be added. */
  addTo(tree: SettingsTree): void {
    tree.findings.push(...this.#findings);
    const { engines, models, ...others } = this.#settings;
    for (const name of Object.keys(others)) refuse(tree, [name], 'Only engines and models can be added.');
    if (isMap(engines)) addEngines(engines, tree);
    else if (engines !== undefined) refuse(tree, ['engines'], '`engines` must be a map of engines.');
    const before = tree.get(['models']) ?? [];
    // Validation reports what else stands there.
    if (Array.isArray(before)) this.#modelsBefore = before.length;
    if (Array.isArray(models) && tree.get(['models']) === undefined)
      tree.set(['models'], models, linesSource);
    else if (Array.isArray(models) && Array.isArray(before)) tree.root['models'] = [...before, ...models];
    else if (models !== undefined) refuse(tree, ['models'], '`models` must be a list of models.');
  }

  /** The findings of a configuration with these lines. */
  describe({ findings }: ConfigError): readonly AddedFinding[] {
    return findings.map((finding) => {
      const setting = this.#inLines(finding.setting);
      if (setting === undefined) return { setting, message: findingText(finding) };
      return { setting, message: findingWords(finding).replaceAll(finding.setting, setting) };
    });
  }

  #inLines(setting: string): string | undefined {
    const [, index, rest] = /^models\[(\d+)\](.*)$/.exec(setting) ?? [];
    if (index !== undefined) {
      const own = Number(index) - this.#modelsBefore;
      return own < 0 ? undefined : `models[${own}]${rest}`;
    }
    const engines = isMap(this.#settings['engines']) ? Object.keys(this.#settings['engines']) : [];
    const paths = [...Object.keys(this.#settings), ...engines.map((name) => pathText(['engines', name]))];
    return paths.some((path) => setting === path || setting.startsWith(`${path}.`)) ? setting : undefined;
  }
}

function addEngines(engines: SettingsMap, tree: SettingsTree): void {
  const before = tree.root['engines'];
  for (const [name, engine] of Object.entries(engines)) {
    const path = ['engines', name];
    // The content of a file would decide about the findings.
    if (isMap(engine) && engine['apiKeyFile'] !== undefined)
      refuse(tree, [...path, 'apiKeyFile'], '`apiKeyFile` is not read here. Write `apiKeyEnv`.');
    else if (isMap(before) && name in before)
      refuse(tree, path, `There is an engine \`${name}\` already. Choose another name.`);
    else tree.set(path, engine, { kind: 'default' });
  }
}

function refuse(tree: SettingsTree, path: SettingPath, message: string): void {
  tree.findings.push({ source: { kind: 'default' }, setting: pathText(path), message });
}
