/** Brings findings about the lines for parley.yaml to the fields of the form that made them. */
import type { CheckEngineResponse, ConfigurationFinding } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import type { NewEngine, NewModel } from './engine-yaml.ts';

export interface LineProblems {
  /** By the field: `name`, `url`, or `models[0].id` of the form. */
  readonly atFields: ReadonlyMap<string, string>;
  /** About the rest of the file. */
  readonly others: readonly string[];
}

const modelFields: Readonly<Record<string, keyof NewModel>> = {
  id: 'id',
  type: 'type',
  price: 'input',
  'price.input': 'input',
  'price.output': 'output',
  'price.cachedInput': 'cachedInput',
  contextTokens: 'context',
};

/** The subject of the finding about the context of a model. */
export const contextOf = (name: string): string => `context of ${name}`;

export function lineProblems(
  findings: readonly ConfigurationFinding[],
  engine: NewEngine,
  modelsBefore: number,
  { diagnostics }: CheckEngineResponse,
): LineProblems {
  const own = `engines.${engine.name}`;
  const atFields = new Map<string, string>();
  const others: string[] = [];
  for (const { setting = '', message } of findings) {
    const field = fieldOf(setting, own, modelsBefore);
    if (field === undefined) others.push(message);
    else atFields.set(field, message);
  }
  for (const [index, { name, type, context }] of engine.models.entries()) {
    const unknown = diagnostics.find(
      ({ subject, state }) => subject === contextOf(name) && state === 'problem',
    );
    if (type === 'chat' && context === '' && unknown !== undefined)
      atFields.set(`models[${index}].context`, 'The server does not report it: write it here.');
  }
  return { atFields, others };
}

function fieldOf(setting: string, engine: string, modelsBefore: number): string | undefined {
  if (setting === engine) return 'name';
  if (setting === `${engine}.baseUrl` || setting === `${engine}.address`) return 'url';
  const [, index, rest = ''] = /^models\[(\d+)\]\.(.+)$/.exec(setting) ?? [];
  const field = modelFields[rest];
  const own = Number(index) - modelsBefore;
  return field && own >= 0 ? `models[${own}].${field}` : undefined;
}
