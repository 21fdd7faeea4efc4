/** The playground: chat, speech, transcription, live transcription and conversations, with the code that does the same. */
import type { ComponentType } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { Icon, type IconName } from '../icons.tsx';
import type { SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { ChatPanel } from './chat/chat-panel.tsx';
import { PlayContext } from './clients.ts';
import { ConversationPanel } from './live/conversation-panel.tsx';
import { LivePanel } from './live/live-panel.tsx';
import { PlayAs } from './play-as.tsx';
import { SpeechPanel } from './speech-panel.tsx';
import { TranscriptionPanel } from './transcription-panel.tsx';

interface PanelProps {
  readonly models: readonly Model[];
  /** Of what the panel keeps in this browser. */
  readonly owner: string;
}

interface Panel {
  readonly path: string;
  readonly title: string;
  readonly type: string;
  readonly icon: IconName;
  readonly Panel: ComponentType<PanelProps>;
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

interface Props {
  readonly path: string;
  readonly session: SignedIn;
}

export function PlaygroundPage({ path, session }: Props) {
  const { kind, account_name, key } = session;
  if (kind === 'account') return <Panels path={path} owner={`${account_name}, ${key.name}`} />;
  return (
    <PlayAs session={session}>
      {(account) => <Panels path={path} owner={`${account}, operator ${key.name}`} />}
    </PlayAs>
  );
}

function Panels({ path, owner }: { readonly path: string; readonly owner: string }) {
  const { catalog } = useContext(PlayContext);
  const models = useLoaded('models', async (signal) => (await catalog.listModels({}, { signal })).data);
  const { path: own, type, title, Panel } = panels.find((panel) => panel.path === path) ?? panels[0];
  return (
    <>
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
            <Kept key={own} Panel={Panel} models={fitting} owner={owner} />
          );
        }}
      </Show>
    </>
  );
}

/** Keeps the reader's input while the models are reloaded. */
function Kept({ Panel, models, owner }: PanelProps & Pick<Panel, 'Panel'>) {
  const [first] = useState(models);
  return <Panel models={first} owner={owner} />;
}

function Closed({ title }: { readonly title: string }) {
  const isOperator = useContext(PlayContext).key !== undefined;
  return (
    <Empty title={`${isOperator ? 'This account' : 'Your key'} cannot call any model for this: ${title}.`}>
      <p>
        Speech and transcription need a plan or its trial, and a key with that scope.{' '}
        {!isOperator && 'Ask the operator of this server.'}
      </p>
    </Empty>
  );
}
