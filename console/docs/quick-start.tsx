/** The start of `/docs`: the address of this server, a key, and three calls. */
import { useEffect, useState } from 'preact/hooks';
import { speechCode, transcriptionCode } from '../shared/code/audio-code.ts';
import { chatCode } from '../shared/code/chat-code.ts';
import { baseUrl } from '../shared/code/quote.ts';
import type { Sample } from '../shared/code/sample.ts';
import { Code, KeyLine, Languages, useLanguage } from './samples-view.tsx';
import { useSessionKey } from './session.ts';

const names = ['curl', 'Python', 'TypeScript'];
const installs: Readonly<Record<string, string>> = {
  Python: 'pip install openai',
  TypeScript: 'npm install openai',
};

export function QuickStart() {
  const [language, choose] = useLanguage(names);
  const { speech, voice, chat } = useModels();
  const calls: readonly (readonly [title: string, samples: readonly Sample[]])[] = [
    ['Speak', speechCode({ model: speech, input: 'Good morning.', voice, format: 'mp3' })],
    ['Transcribe it', transcriptionCode({ model: 'any', file: 'speech.mp3' })],
    [
      'Chat',
      chatCode({
        model: chat,
        messages: [{ role: 'user', content: 'Good morning.' }],
        temperature: '',
        maxTokens: '',
      }),
    ],
  ];
  const install = installs[language];
  return (
    <section aria-labelledby="quick-start">
      <h2 id="quick-start">Quick start</h2>
      <p>The base URL of this server, for any SDK of OpenAI:</p>
      <Code text={baseUrl()} language="" />
      <KeyLine kind="apiKey" />
      <WhereKeysAre />
      <Languages names={names} chosen={language} onChoose={choose} />
      {install !== undefined && <Code text={install} language="sh" />}
      {calls.map(([title, samples]) => (
        <div key={title} class="call">
          <h3>{title}</h3>
          <Code text={samples.find(({ name }) => name === language)?.code ?? ''} language={language} />
        </div>
      ))}
    </section>
  );
}

function WhereKeysAre() {
  const session = useSessionKey('apiKey');
  const admin = useSessionKey('adminKey');
  if (session !== undefined) {
    return (
      <p>
        <a href="/console/keys">Create a key</a> if you do not have its secret any more.
      </p>
    );
  }
  return (
    <p>
      Get one: {admin === undefined ? 'sign in to the ' : 'you are signed in as an operator, so choose an '}
      <a href={admin === undefined ? '/console/keys' : '/console/accounts'}>
        {admin === undefined ? 'console' : 'account'}
      </a>{' '}
      and create it there, or run <code>parley key create --account ACCOUNT --name app</code> on the server.
    </p>
  );
}

interface ListedModel {
  readonly id: string;
  readonly type?: string;
  readonly defaultVoice?: string;
}

/** Models that the signed-in person may call, else those of a server without a configuration. */
function useModels() {
  const [models, setModels] = useState({ speech: 'flite', voice: 'slt', chat: 'eliza' });
  const isSignedIn = useSessionKey('apiKey') !== undefined;
  useEffect(() => {
    if (!isSignedIn) return;
    void (async () => {
      const response = await fetch('/api/v1/models').catch(() => undefined);
      if (!response?.ok) return;
      const { data } = (await response.json()) as { readonly data: readonly ListedModel[] };
      const first = (type: string) => data.find((model) => model.type === type);
      const speaks = first('speech');
      setModels((before) => ({
        speech: speaks?.id ?? before.speech,
        voice: speaks?.defaultVoice ?? before.voice,
        chat: first('chat')?.id ?? before.chat,
      }));
    })();
  }, [isSignedIn]);
  return models;
}
