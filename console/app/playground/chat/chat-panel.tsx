/** Chat with one model, or with several side by side. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import { chatCode } from '../../../shared/code/chat-code.ts';
import { AsCode } from '../as-code.tsx';
import { ChatAnswer } from './chat-answer.tsx';
import { messagesFor, type Question, type Turn, toolsOf } from './chat-run.ts';
import { ModelChoice, modelsMax, Settings } from './chat-settings.tsx';
import { Composer, Thumbnails } from './composer.tsx';
import { ConversationList } from './conversation-list.tsx';
import { noSettings } from './presets.ts';
import { useChat } from './use-chat.ts';
import { useFollow } from './use-follow.ts';

interface Props {
  readonly models: readonly Model[];
  /** Of the conversations and presets in this browser. */
  readonly owner: string;
}

export function ChatPanel({ models, owner }: Props) {
  const [chosen, setChosen] = useState<readonly string[]>(models.slice(0, 1).map(({ id }) => id));
  const [settings, setSettings] = useState(noSettings);
  const [question, setQuestion] = useState('');
  const [problem, setProblem] = useState<string>();
  const { id, turns, isRunning, chat } = useChat(owner);
  const [end, composer] = [useRef<HTMLDivElement>(null), useRef<HTMLFormElement>(null)];
  const follow = useFollow(end, composer, turns);
  const last = turns.at(-1);
  useEffect(() => {
    // An opened conversation continues with its own models.
    const used = Object.keys(last?.answers ?? {}).filter((one) => models.some((model) => model.id === one));
    if (used.length > 0) setChosen(used.slice(0, modelsMax));
  }, [id]);
  const send = (next: Question) => {
    const asked = models.filter((model) => chosen.includes(model.id));
    setProblem(problemOf(settings.tools));
    if (asked.length === 0 || problemOf(settings.tools) !== undefined) return false;
    follow();
    chat.send(next, asked, settings);
    return true;
  };
  const shown = { question: question.trim() || (last?.question ?? 'Hello'), images: [] };
  return (
    <div class="playground">
      <div class="chat">
        <Conversation turns={turns} end={end} />
        <Composer
          element={composer}
          isRunning={isRunning}
          isEmpty={turns.length === 0}
          question={question}
          onInput={setQuestion}
          onSend={send}
          onStop={() => chat.stop()}
          onClear={() => void chat.open(undefined)}
        />
      </div>
      <div id="settings">
        <aside class="card" aria-label="Settings">
          <ModelChoice models={models} chosen={chosen} onChange={setChosen} />
          <Settings owner={owner} settings={settings} problem={problem} onChange={setSettings} />
        </aside>
        <AsCode
          samples={chatCode({
            model: chosen[0] ?? '',
            messages: messagesFor('', [], shown, settings.system),
            temperature: settings.temperature,
            maxTokens: settings.maxTokens,
          })}
        />
        <ConversationList owner={owner} current={id} onOpen={(next) => chat.open(next)} />
      </div>
    </div>
  );
}

function problemOf(tools: string): string | undefined {
  try {
    toolsOf(tools);
    return undefined;
  } catch (error) {
    return String(error instanceof Error ? error.message : error);
  }
}

interface ConversationProps {
  readonly turns: readonly Turn[];
  readonly end: { current: HTMLDivElement | null };
}

function Conversation({ turns, end }: ConversationProps) {
  return (
    <section class="card conversation" aria-label="Conversation">
      {turns.length === 0 && (
        <p class="state">
          <strong>Ask something.</strong> Choose several models to compare their answers.
        </p>
      )}
      {turns.map(({ question, images, answers }, index) => (
        <article key={`${index} ${question}`} class="turn">
          {question !== '' && <p class="question">{question}</p>}
          <Thumbnails images={images} />
          <div class="answers">
            {Object.entries(answers).map(([id, answer]) => (
              <ChatAnswer key={id} id={id} answer={answer} />
            ))}
          </div>
        </article>
      ))}
      <div ref={end} />
    </section>
  );
}
