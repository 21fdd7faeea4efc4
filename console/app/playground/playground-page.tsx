/** The playground: chat, speech and transcription, with the code that does the same. */
import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { catalog } from '../api.ts';
import { Icon, type IconName } from '../icons.tsx';
import { Empty, Show, useLoaded } from '../states.tsx';
import { ChatPanel } from './chat-panel.tsx';
import { SpeechPanel } from './speech-panel.tsx';
import { TranscriptionPanel } from './transcription-panel.tsx';

interface Panel {
  readonly path: string;
  readonly title: string;
  readonly type: string;
  readonly icon: IconName;
  readonly Panel: ComponentType<{ readonly models: readonly Model[] }>;
}

const panels: readonly [Panel, ...Panel[]] = [
  { path: '/playground', title: 'Chat', type: 'chat', icon: 'play', Panel: ChatPanel },
  { path: '/playground/speech', title: 'Speech', type: 'speech', icon: 'speaker', Panel: SpeechPanel },
  {
    path: '/playground/transcription',
    title: 'Transcription',
    type: 'transcription',
    icon: 'microphone',
    Panel: TranscriptionPanel,
  },
];

export function PlaygroundPage({ path }: { readonly path: string }) {
  const models = useLoaded('models', async (signal) => (await catalog.listModels({}, { signal })).data);
  const { type, title, Panel } = panels.find((panel) => panel.path === path) ?? panels[0];
  return (
    <>
      <h1>Playground</h1>
      <nav class="tabs" aria-label="Operations">
        {panels.map((panel) => (
          <a
            key={panel.path}
            href={`/console${panel.path}`}
            aria-current={panel.type === type ? 'page' : undefined}
          >
            <Icon name={panel.icon} /> {panel.title}
          </a>
        ))}
      </nav>
      <Show of={models} what="the models">
        {(all) => {
          const own = all.filter((model) => model.type === type);
          return own.length === 0 ? <Closed title={title} /> : <Kept key={type} Panel={Panel} models={own} />;
        }}
      </Show>
    </>
  );
}

/** Keeps the reader's input while the models are reloaded. */
function Kept({ Panel, models }: { readonly Panel: Panel['Panel']; readonly models: readonly Model[] }) {
  const [first] = useState(models);
  return <Panel models={first} />;
}

function Closed({ title }: { readonly title: string }) {
  return (
    <Empty title={`Your key can call no model for this: ${title}.`}>
      <p>
        Speech and transcription need a plan or its trial, and a key with that scope. Ask the operator of this
        server.
      </p>
    </Empty>
  );
}
