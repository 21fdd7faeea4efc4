/** Changes of the configuration file by operators. */
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { audit } from '../access/account-of-call.ts';
import type { AdminCall } from '../access/call.ts';
import {
  type ConfigurationEditor,
  type EntryEdit,
  entrySections,
  type FileChange,
} from '../entities/configuration.ts';
import { bounds, hasLength, matches } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { present } from '../values/json.ts';
import { invalid, readOneOf } from '../values/parameters.ts';
import { checkText } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import { running } from './server.ts';

/** Lines of a change, and characters of each, that the audit trail keeps. */
const [auditedLines, auditedCharacters] = [200, 300];

export function configurationFunctions(deps: AccountsDeps) {
  async function change(action: string, wanted: FileChange, call: AdminCall) {
    const editor = editorOf(deps);
    if (!wanted.isTried) await refuseShared();
    return editor.change(wanted, (lines) => {
      const kept = lines.slice(0, auditedLines).map((line) => line.slice(0, auditedCharacters));
      return deps.store.audit.add(audit(deps, call, action, editor.path, { diff: kept }));
    });
  }

  /** Each of several servers reads a file of its own. */
  async function sharedProblem(): Promise<string | undefined> {
    if ((await deps.store.nodes.list()).length <= 1) return undefined;
    return 'Several servers share the database, each with its own file. Change the files, then run `parley config apply` on each machine.';
  }

  async function refuseShared(): Promise<void> {
    const message = await sharedProblem();
    if (message !== undefined) throw new ParleyError('invalid_parameter', { message });
  }

  return {
    async getConfiguration() {
      const { editor } = running(deps.server);
      if (editor === undefined) return { problem: fromPipe };
      const file = editor.read();
      return { ...file, ...present({ problem: file.problem ?? (await sharedProblem()) }) };
    },

    changeConfiguration(
      { version, validateOnly = false, edits }: pb.ChangeConfigurationRequest,
      call: AdminCall,
    ) {
      const { minItems, maxItems } = bounds.configurationEdits;
      if (edits.length < minItems || edits.length > maxItems)
        throw invalid('edits', `\`edits\` takes ${minItems} to ${maxItems} entries.`);
      return change(
        'configuration.change',
        { version, isTried: validateOnly, edits: edits.map(readEdit) },
        call,
      );
    },

    undoConfigurationChange(
      { version, validateOnly = false }: pb.UndoConfigurationChangeRequest,
      call: AdminCall,
    ) {
      return change('configuration.undo', { version, isTried: validateOnly, edits: 'undo' }, call);
    },
  };
}

function readEdit({ section, name, yaml, apiKey, mustBeNew = false }: pb.ConfigurationEdit): EntryEdit {
  const known = readOneOf('edits.section', section, entrySections) ?? entrySections[0];
  if (!hasLength(yaml, bounds.entryYaml))
    throw invalid('edits.yaml', `\`yaml\` takes at most ${bounds.entryYaml.maxLength} characters.`);
  if (apiKey !== undefined && (known !== 'engines' || yaml === ''))
    throw invalid('edits.api_key', 'Only an engine that stays has a key.');
  if (apiKey !== undefined && !matches(apiKey, bounds.upstreamKey))
    throw invalid('edits.api_key', '`api_key` must have printable ASCII characters without blanks.');
  return { section: known, name: checkText('edits.name', name, bounds.modelName), yaml, apiKey, mustBeNew };
}

const fromPipe = 'This server read its configuration from a pipe, which cannot be changed.';

function editorOf({ server }: AccountsDeps): ConfigurationEditor {
  const { editor } = running(server);
  if (editor !== undefined) return editor;
  throw new ParleyError('invalid_parameter', { message: fromPipe });
}
