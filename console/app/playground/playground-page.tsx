/** The playground: chat, speech, transcription, live transcription and conversations, with the code that does the same. */
import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { catalog } from '../api.ts';
import { Icon, type IconName } from '../icons.tsx';
import { Empty, Show, useLoaded } from '../states.tsx';
import { ChatPanel } from './chat-panel.tsx';
import { ConversationPanel } from './live/conversation-panel.tsx';
import { LivePanel } from './live/live-panel.tsx';
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
  { path: '/playground/live', title: 'Live', type: 'transcription', icon: 'live', Panel: LivePanel },
  {
    path: '/playground/conversation',
    title: 'Conversation',
    type: 'transcription',
    icon: 'speaker',
    Panel: ConversationPanel,
  },
];

export function PlaygroundPage({ path }: { readonly path: string }) {
  const models = useLoaded('models', async (signal) => (await catalog.listModels({}, { signal })).data);
  const { path: own, type, title, Panel } = panels.find((panel) => panel.path === path) ?? panels[0];
  return (
    <>
      <h1>Playground</h1>
      <nav class="tabs" aria-label="Operations">
        {panels.map((panel) => (
          <a
            key={panel.path}
            href={`/console${panel.path}`}
            aria-current={panel.path === own ? 'page' : undefined}
          >
            <Icon name={panel.icon} /> {panel.title}
          </a>
        ))}
      </nav>
      <Show of={models} what="the models">
        {(all) => {
          const fitting = all.filter((model) => model.type === type);
          return fitting.length === 0 ? (
            <Closed title={title} />
          ) : (
            <Kept key={own} Panel={Panel} models={fitting} />
          );
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
    <Empty title={`Your key cannot call any model for this: ${title}.`}>
      <p>
        Speech and transcription need a plan or its trial, and a key with that scope. Ask the operator of this
        server.
      </p>
    </Empty>
  );
}
