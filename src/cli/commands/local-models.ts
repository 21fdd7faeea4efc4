/** The commands for local models. They change files of the data folder, and need no server. */
import { type Command, Option } from 'commander';
import { modelTypes } from '../../core/entities/model.ts';
import { localCommand, withAdminKey } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { withYes } from '../terminal/confirm.ts';

type Changes = typeof import('./local-model-changes.ts');

/** The action of a command that changes models, which is loaded when it runs. */
function changing<Named, Flags extends object>(
  choose: (changes: Changes) => (named: Named, flags: Flags) => Promise<void>,
) {
  return async (named: Named, _: unknown, self: Command): Promise<void> =>
    choose(await import('./local-model-changes.ts'))(named, self.optsWithGlobals<Flags>());
}

export function localModelCommands(): Command[] {
  return [
    withAdminKey(
      localCommand('list', 'List the local models of the data folder, and how they run on its server.'),
    ).action(async (_, self: Command) =>
      (await import('./local-model-list.ts')).listLocalModels(self.optsWithGlobals()),
    ),
    newCommand('available', 'List the models that Parley knows by name.')
      .option('--json', 'print one JSON document')
      .action(async (_, self: Command) =>
        (await import('./local-model-list.ts')).listAvailable(self.optsWithGlobals()),
      ),
    pullCommand('pull', 'Bring a model by its name and serve it, or check the files of a local model.')
      .argument(
        '<model>',
        'a name of `parley models available`, the id of a local model, or the path of a manifest',
      )
      .action(changing(({ pull }) => pull)),
    newModelCommand('add', 'Describe a model by the URLs of its files, and pull it.')
      .argument('<url...>', 'https URLs; #sha256=… is the hash that the publisher states')
      .action(changing(({ add }) => add)),
    newModelCommand('import', 'Take the files of a model from this machine.')
      .argument('<path>', 'a GGUF file, or a folder with the files of a sherpa model')
      .action(changing(({ importModel }) => importModel)),
    localCommand('verify', 'Compare the files of local models with their hashes.')
      .argument('[model]', 'the id of a local model (default: all)')
      .action(changing(({ verify }) => verify)),
    withYes(localCommand('rm', 'Remove a local model and its files.'))
      .argument('<model>', 'the id of a local model')
      .action(changing(({ remove }) => remove)),
  ];
}

function pullCommand(name: string, description: string): Command {
  const token = new Option('--token <token>', 'a bearer token for the host of the first URL, and no other');
  return withYes(localCommand(name, description)).addOption(token.env('PARLEY_MODELS_TOKEN'));
}

function newModelCommand(name: string, description: string): Command {
  return pullCommand(name, description)
    .option(
      '--licence <name>',
      'the SPDX identifier of its licence, or its name (default for an imported GGUF file: as its header says)',
    )
    .option('--licence-url <url>', 'where the licence can be read')
    .option(
      '--id <id>',
      'its id here (default for an imported GGUF file: the name in its header, else that of its file or folder)',
    )
    .addOption(new Option('--type <type>', 'its type (default for GGUF: chat)').choices(modelTypes))
    .option(
      '--context-tokens <number>',
      'chat: tokens of prompt and completion together (default: as --licence)',
    )
    .option(
      '--voice <name=language...>',
      'speech: its voices, such as af_heart=en-US, in the order of its speakers',
    )
    .option('--language <tag...>', 'transcription: the languages that it knows')
    .option(
      '--memory-bytes <number>',
      'memory that it needs (default: 1.2 times its files, of Whisper 3.2 times)',
    );
}
