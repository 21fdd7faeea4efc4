import { type Command, Option } from 'commander';
import type { ListModelsResponse, Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { modelTypes } from '../../core/entities/model.ts';
import type { ServerConnection } from '../client/server-connection.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { CliError, newCommand } from '../terminal/command.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson } from '../terminal/terminal.ts';
import { localModelCommands } from './local-models.ts';

interface ModelsFlags extends ClientFlags, JsonFlag {
  readonly type?: string;
}

export function modelsCommand(): Command {
  const command = newCommand('models', 'List the models that the key can call, or manage local models.')
    .addOption(new Option('--type <type>', 'only models of this type').choices(modelTypes))
    .option('--json', 'print one JSON document, in the form of the REST API');
  withClientFlags(command).action(showModels);
  for (const subcommand of localModelCommands()) command.addCommand(subcommand);
  return command;
}

async function showModels(flags: ModelsFlags): Promise<void> {
  const { CatalogService, clientServer, responseBodyCodec } = await import('../client/calls.ts');
  const response = await listModels(clientServer(flags), flags.type);
  if (flags.json) await printJson(responseBodyCodec(CatalogService.method.listModels).encode(response));
  else await printData(modelTable(response));
}

/**
 * The first model of a type that the key can call.
 * @throws CliError if there is none
 */
export async function firstModel(
  server: ServerConnection,
  type: (typeof modelTypes)[number],
  signal?: AbortSignal,
): Promise<string> {
  const [model] = (await listModels(server, type, signal)).data;
  if (model !== undefined) return model.id;
  throw new CliError(
    `This key cannot call any model for ${type}. \`parley models\` lists its models; speech and transcription need a plan or trial.`,
  );
}

async function listModels(
  server: ServerConnection,
  type: string | undefined,
  signal?: AbortSignal,
): Promise<ListModelsResponse> {
  const { CatalogService } = await import('../client/calls.ts');
  const request = type === undefined ? {} : { type };
  return server.call(CatalogService, (client, options) => client.listModels(request, options), signal);
}

function modelTable({ data }: ListModelsResponse): string {
  return table(data, [
    { title: 'MODEL', cell: ({ id }) => id },
    { title: 'TYPE', cell: ({ type }) => type },
    { title: 'OFFERS', cell: offers },
  ]);
}

function offers({ voices, defaultVoice, price, contextWindow }: Model): string | undefined {
  if (voices.length > 0) return `voices ${voices.join(', ')} (default ${defaultVoice})`;
  if (price === undefined) return undefined;
  const context = contextWindow === undefined ? '' : `${contextWindow} tokens of context; `;
  return `${context}${price.input} credits per million tokens in, ${price.output} out`;
}
