import type { FirstRun } from '../../app/demo.ts';

/** The built-in recogniser understands every word of this in the default voice. */
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
  /** Ids of models that work; the banner has a command for each. */
  readonly models: { readonly speech?: string; readonly transcription?: string; readonly chat?: string };
}

/** The options that make clients accept the server's certificate. Empty if any client accepts it, and without TLS. */
export interface Trust {
  /** The file of the certificate. */
  readonly caFile?: string;
  /** The name that the certificate has for the server. */
  readonly name?: string;
}

/** The text of a first start: the keys, and commands to copy. */
export function demoBanner(firstRun: FirstRun, facts: BannerFacts): string {
  const { baseUrl, apiKey, adminKey } = firstRun;
  const steps = facts.hasCurl ? curlSteps(firstRun, facts) : parleySteps(facts);
  const shown = steps.map(({ title, command }, index) => `  ${index + 1}. ${title}:\n     ${command}\n\n`);
  const console = `  Console     ${new URL('/console', baseUrl)}\n              Sign in with either key.\n`;
  const docs = `  Reference   ${new URL('/docs', baseUrl)}\n`;
  return `
  Parley is ready at ${baseUrl}

${facts.hasConsole ? console : ''}${facts.hasDocs ? docs : ''}  API key     ${apiKey}
  Admin key   ${adminKey}
  Shown only once; ${facts.file} keeps them for you.

${shown.join('')}`;
}

interface Step {
  readonly title: string;
  readonly command: string;
}

const speakTitle = 'Speak to a file';
const transcribeTitle = 'Transcribe that file';
const chatTitle = 'Chat as a stream';

function curlSteps({ baseUrl, apiKey }: FirstRun, { models, trust }: BannerFacts): Step[] {
  const { speech, transcription, chat } = models;
  const { url, flags } = trusting(baseUrl, trust);
  const bearer = `-H ${quoted(`Authorization: Bearer ${apiKey}`)}`;
  const curl = (path: string, rest: string) => `curl ${flags}${quoted(url + path)} ${bearer} ${rest}`;
  const data = (body: object) =>
    `-H ${quoted('Content-Type: application/json')} -d ${quoted(JSON.stringify(body))}`;
  const steps: Step[] = [];
  if (speech !== undefined) {
    const command = curl('/audio/speech', `${data({ model: speech, input: sentence })} -o ${recording}`);
    steps.push({ title: speakTitle, command });
    const transcribe = curl('/audio/transcriptions', `-F file=@${recording}`);
    if (transcription !== undefined) steps.push({ title: transcribeTitle, command: transcribe });
  }
  if (chat !== undefined) {
    const messages = [{ role: 'user', content: question }];
    const command = curl('/chat/completions', `-N ${data({ model: chat, stream: true, messages })}`);
    steps.push({ title: chatTitle, command });
  }
  return steps;
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
function parleySteps({ dataDir, models, trust: { caFile } }: BannerFacts): Step[] {
  const parley = caFile === undefined ? './parley' : `NODE_EXTRA_CA_CERTS=${quoted(caFile)} ./parley`;
  const folder = `--data-dir ${quoted(dataDir)}`;
  const steps: Step[] = [];
  if (models.speech !== undefined) {
    const command = `${parley} speak ${folder} -o ${recording} ${quoted(sentence)}`;
    steps.push({ title: speakTitle, command });
    const transcribe = `${parley} transcribe ${folder} ${recording}`;
    if (models.transcription !== undefined) steps.push({ title: transcribeTitle, command: transcribe });
  }
  if (models.chat !== undefined) {
    steps.push({ title: chatTitle, command: `${parley} chat ${folder} ${quoted(question)}` });
  }
  return steps;
}

/** A word of a shell command. In single quotes only the quote itself is special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
