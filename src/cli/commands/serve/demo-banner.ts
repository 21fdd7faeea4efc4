import type { FirstRun } from '../../../app/first-run.ts';

/** The built-in recogniser understands every word of this text in the default voice. */
const sentence = 'Good morning. This is the voice of your own server, and it is ready to work.';
const question = 'I am curious about my new server.';
const recording = 'hello.mp3';

export interface BannerFacts {
  readonly dataDir: string;
  /** The file with the keys. */
  readonly file: string;
  readonly hasConsole: boolean;
  readonly hasDocs: boolean;
  readonly hasCurl: boolean;
  readonly trust: Trust;
  /** Ids of working models; the banner has a command for each. */
  readonly models: { readonly speech?: string; readonly transcription?: string; readonly chat?: string };
  /** Why each other model does not work yet. */
  readonly reasons: readonly string[];
  /** Set-up still builds what transcription needs. */
  readonly awaitsTranscription: boolean;
}

/** The options that make clients accept the server's certificate. Empty without TLS, or if any client accepts it. */
export interface Trust {
  readonly caFile?: string;
  /** The server's name in its certificate. */
  readonly name?: string;
}

/** The text of a first start: the keys, and commands to copy. */
export function demoBanner(firstRun: FirstRun, facts: BannerFacts): string {
  const { baseUrl, apiKey, adminKey } = firstRun;
  const { speak, transcribe, chat } = facts.hasCurl ? curlCommands(firstRun, facts) : parleyCommands(facts);
  const { models } = facts;
  const hasRecording = models.speech !== undefined && models.transcription !== undefined;
  const steps = [
    ...(models.speech === undefined ? [] : [`Speak to a file:\n     ${speak(models.speech)}`]),
    ...(hasRecording ? [`Transcribe that file:\n     ${transcribe}`] : []),
    ...(models.chat === undefined ? [] : [`Chat as a stream:\n     ${chat(models.chat)}`]),
  ];
  const shown = steps.map((step, index) => `  ${index + 1}. ${step}\n\n`);
  const later = facts.awaitsTranscription
    ? '  The command to transcribe appears here when that works.\n\n'
    : '';
  const console = `  Console     ${new URL('/console', baseUrl)}
              Sign in with the admin key to manage the server, and to play as the account
              demo; with the API key to see what the account sees.\n`;
  const docs = `  Reference   ${new URL('/docs', baseUrl)}\n`;
  return `
  Parley is ready at ${baseUrl}

${facts.hasConsole ? console : ''}${facts.hasDocs ? docs : ''}  API key     ${apiKey}
  Admin key   ${adminKey}
  Both keys are in ${facts.file}, which only you can read.

${shown.join('')}${facts.reasons.map((reason) => `  ${reason}\n\n`).join('')}${later}`;
}

/** The text for a terminal once the recording of the first command can be transcribed. */
export function transcriptionReady(
  firstRun: FirstRun,
  facts: Pick<BannerFacts, 'hasCurl' | 'trust' | 'dataDir'>,
): string {
  const { transcribe } = facts.hasCurl ? curlCommands(firstRun, facts) : parleyCommands(facts);
  return `\n  Transcription is ready. Transcribe the file of the first command:\n     ${transcribe}\n\n`;
}

interface Commands {
  readonly speak: (model: string) => string;
  readonly transcribe: string;
  readonly chat: (model: string) => string;
}

function curlCommands({ baseUrl, apiKey }: FirstRun, { trust }: Pick<BannerFacts, 'trust'>): Commands {
  const { url, flags } = trusting(baseUrl, trust);
  const bearer = `-H ${quoted(`Authorization: Bearer ${apiKey}`)}`;
  const curl = (path: string, rest: string) => `curl ${flags}${quoted(url + path)} ${bearer} ${rest}`;
  const data = (body: object) =>
    `-H ${quoted('Content-Type: application/json')} -d ${quoted(JSON.stringify(body))}`;
  const messages = [{ role: 'user', content: question }];
  return {
    speak: (model) => curl('/audio/speech', `${data({ model, input: sentence })} -o ${recording}`),
    transcribe: curl('/audio/transcriptions', `-F file=@${recording}`),
    chat: (model) => curl('/chat/completions', `-N ${data({ model, stream: true, messages })}`),
  };
}

/** The address and the flags with which curl accepts the certificate. */
function trusting(
  baseUrl: string,
  { caFile, name }: Trust,
): { readonly url: string; readonly flags: string } {
  const { host, port } = new URL(baseUrl);
  const authority = caFile === undefined ? '' : `--cacert ${quoted(caFile)} `;
  if (name === undefined) return { url: baseUrl, flags: authority };
  const named = `${name}:${port}`;
  return {
    url: baseUrl.replace(host, named),
    flags: `${authority}--connect-to ${quoted(`${named}:${host}`)} `,
  };
}

/** Commands that find the server and the key in the data folder. */
function parleyCommands({ dataDir, trust: { caFile } }: Pick<BannerFacts, 'dataDir' | 'trust'>): Commands {
  const parley = caFile === undefined ? './parley' : `NODE_EXTRA_CA_CERTS=${quoted(caFile)} ./parley`;
  const folder = `--data-dir ${quoted(dataDir)}`;
  return {
    speak: () => `${parley} speak ${folder} -o ${recording} ${quoted(sentence)}`,
    transcribe: `${parley} transcribe ${folder} ${recording}`,
    chat: () => `${parley} chat ${folder} ${quoted(question)}`,
  };
}

/** A word of a shell command. In single quotes only the quote itself is special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
