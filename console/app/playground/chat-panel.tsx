/** Chat with one model, or with several side by side. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { chatCode } from '../../shared/code/chat-code.ts';
import { Field } from '../fields.tsx';
import { AsCode } from './as-code.tsx';
import { ChatAnswer } from './chat-answer.tsx';
import { ask, type ChatSettings, messagesFor, type Turn } from './chat-run.ts';

const modelsMax = 4;
const noSettings: ChatSettings = { system: '', temperature: '', maxTokens: '' };

export function ChatPanel({ models }: { readonly models: readonly Model[] }) {
  const [chosen, setChosen] = useState<readonly string[]>(models.slice(0, 1).map(({ id }) => id));
  const [settings, setSettings] = useState(noSettings);
  const [question, setQuestion] = useState('');
  const { turns, isRunning, send, stop, clear } = useChat();
  const last = turns.at(-1);
  const shownQuestion = question.trim() || (last?.question ?? 'Hello');
  const submit = () => {
    if (question.trim() === '' || isRunning || chosen.length === 0) return;
    send(question.trim(), chosen, settings);
    setQuestion('');
  };
  return (
    <div class="playground">
      <section class="card conversation" aria-label="Conversation">
        {turns.length === 0 ? (
          <p class="state">
            <strong>Ask something.</strong> Choose several models to compare their answers.
          </p>
        ) : (
          turns.map((turn, index) => (
            <article key={`${index} ${turn.question}`} class="turn">
              <p class="question">{turn.question}</p>
              <div class="answers">
                {Object.entries(turn.answers).map(([id, answer]) => (
                  <ChatAnswer
                    key={id}
                    id={id}
                    model={models.find((model) => model.id === id)}
                    answer={answer}
                  />
                ))}
              </div>
            </article>
          ))
        )}
        <form
          class="composer"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <label class="unseen" for="question">
            Message
          </label>
          <textarea
            id="question"
            rows={3}
            placeholder="Message (Enter sends, Shift and Enter begins a new line)"
            value={question}
            onInput={({ currentTarget }) => setQuestion(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              submit();
            }}
          />
          <div class="buttons">
            {isRunning ? (
              <button type="button" class="primary" onClick={stop}>
                Stop
              </button>
            ) : (
              <button type="submit" class="primary">
                Send
              </button>
            )}
            <button type="button" disabled={turns.length === 0 || isRunning} onClick={clear}>
              New conversation
            </button>
          </div>
        </form>
      </section>
      <aside class="card" aria-label="Settings">
        <ModelChoice models={models} chosen={chosen} onChange={setChosen} />
        <Settings settings={settings} onChange={setSettings} />
      </aside>
      <AsCode
        samples={chatCode({
          model: chosen[0] ?? '',
          messages: messagesFor('', [], shownQuestion, settings.system),
          temperature: settings.temperature,
          maxTokens: settings.maxTokens,
        })}
      />
    </div>
  );
}

function useChat() {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [running, setRunning] = useState<AbortController>();
  const current = useRef<AbortController>(undefined);
  // Leaving the page stops the answers.
  useEffect(() => () => current.current?.abort(), []);
  const send = (question: string, models: readonly string[], settings: ChatSettings) => {
    const abort = new AbortController();
    current.current = abort;
    setRunning(abort);
    const index = turns.length;
    setTurns([...turns, { question, answers: {} }]);
    const answers = models.map((model) =>
      ask(
        model,
        messagesFor(model, turns, question, settings.system),
        settings,
        (answer) =>
          setTurns((all) =>
            all.map((turn, at) =>
              at === index ? { ...turn, answers: { ...turn.answers, [model]: answer } } : turn,
            ),
          ),
        abort.signal,
      ),
    );
    void Promise.all(answers).then(() => setRunning(undefined));
  };
  return {
    turns,
    isRunning: running !== undefined,
    send,
    stop: () => running?.abort(),
    clear: () => setTurns([]),
  };
}

interface ModelChoiceProps {
  readonly models: readonly Model[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function ModelChoice({ models, chosen, onChange }: ModelChoiceProps) {
  return (
    <fieldset class="checks">
      <legend>Models, up to {modelsMax}</legend>
      {models.map(({ id, price }) => {
        const isChosen = chosen.includes(id);
        return (
          <label
            key={id}
            title={price && `${price.input} in and ${price.output} out, in credits per million tokens`}
          >
            <input
              type="checkbox"
              checked={isChosen}
              disabled={!isChosen && chosen.length >= modelsMax}
              onChange={() => onChange(isChosen ? chosen.filter((one) => one !== id) : [...chosen, id])}
            />{' '}
            {id}
          </label>
        );
      })}
    </fieldset>
  );
}

interface SettingsProps {
  readonly settings: ChatSettings;
  readonly onChange: (settings: ChatSettings) => void;
}

function Settings({ settings, onChange }: SettingsProps) {
  const set = (name: keyof ChatSettings) => (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange({ ...settings, [name]: event.currentTarget.value });
  return (
    <>
      <div class="field">
        <label for="system">System message</label>
        <textarea id="system" rows={3} value={settings.system} onInput={set('system')} />
      </div>
      <Field
        label="Temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder="the model’s own"
        value={settings.temperature}
        onInput={set('temperature')}
      />
      <Field
        label="Maximum tokens"
        type="number"
        min={1}
        step={1}
        placeholder="the model’s own"
        value={settings.maxTokens}
        onInput={set('maxTokens')}
      />
    </>
  );
}
