/** A form that sends an operation's request with the reader's key, and shows the answer. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { AnswerView } from './answer-view.tsx';
import { BodyFields } from './body-fields.tsx';
import type { KeyKind, Operation } from './document.ts';
import { Field } from './field.tsx';
import { keyNames, useKey } from './keys.ts';
import { useSessionKey } from './session.ts';
import { type Received, send } from './try-answer.ts';
import { type Draft, prepare } from './try-request.ts';

interface Props {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

export function TryIt({ operation, draft, onDraft }: Props) {
  const [key] = useKey(operation.key ?? 'apiKey');
  const { received, failure, isRunning, run, stop } = useSending();
  const prepared = prepare(operation, draft, operation.key === undefined ? '' : key);
  return (
    <form
      class="try"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRunning) void run(prepared);
      }}
    >
      {operation.key !== undefined && <KeyField kind={operation.key} />}
      <ParameterFields operation={operation} draft={draft} onChange={onDraft} />
      <BodyFields operation={operation} draft={draft} onChange={onDraft} />
      <p class="buttons">
        <button type="submit" class="primary" aria-disabled={isRunning}>
          Send
        </button>
        <button type="button" disabled={!isRunning} onClick={stop}>
          Stop
        </button>
      </p>
      <div aria-live="polite" class="answer">
        {failure !== undefined && <p class="failure">{failure}</p>}
        {received !== undefined && <AnswerView received={received} id={operation.operationId} />}
      </div>
    </form>
  );
}

function useSending() {
  const [received, setReceived] = useState<Received>();
  const [failure, setFailure] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (prepared: Parameters<typeof send>[0]) => {
    abort.current = new AbortController();
    setRunning(true);
    setFailure(undefined);
    setReceived((before) => {
      release(before);
      return undefined;
    });
    try {
      await send(prepared, abort.current.signal, setReceived);
    } catch (error) {
      const isStopped = abort.current.signal.aborted;
      setFailure(
        isStopped ? 'Stopped.' : `The server could not be reached, or the answer broke off (${error}).`,
      );
    }
    setRunning(false);
  };
  return { received, failure, isRunning, run, stop: () => abort.current?.abort() };
}

/** Audio that cannot be played any more. */
function release(received: Received | undefined): void {
  if (received?.body.kind === 'audio' && received.body.url !== undefined)
    URL.revokeObjectURL(received.body.url);
}

function KeyField({ kind }: { readonly kind: KeyKind }) {
  const id = useId();
  const [key, setKey] = useKey(kind);
  const session = useSessionKey(kind);
  return (
    <div class="field">
      <label for={id}>{keyNames[kind]}</label>
      <input
        id={id}
        type="password"
        autocomplete="off"
        spellcheck={false}
        placeholder={kind === 'adminKey' ? 'pa_…' : 'pk_…'}
        value={key}
        onInput={({ currentTarget }) => setKey(currentTarget.value)}
      />
      {session !== undefined && key === '' ? (
        <small>
          Requests are sent with the key of your session, {session.name} ({session.prefix}…{session.last_four}
          ). Enter another to send them with that one.
        </small>
      ) : (
        <small>The key is kept in this tab until you close it, and sent only to this server.</small>
      )}
    </div>
  );
}

interface ParameterProps {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

function ParameterFields({ operation, draft, onChange }: ParameterProps) {
  return (
    <>
      {operation.parameters.map(({ name, schema, required = false }) => (
        <Field
          key={name}
          name={name}
          schema={schema}
          required={required}
          value={draft.parameters[name] ?? ''}
          onChange={(value) => onChange({ ...draft, parameters: { ...draft.parameters, [name]: value } })}
        />
      ))}
    </>
  );
}
