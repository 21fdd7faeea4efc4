import { useMemo, useState } from 'preact/hooks';
import type { Answer, Api, Operation } from './document.ts';
import { Prose } from './prose.tsx';
import { samplesOf } from './samples.ts';
import { Samples } from './samples-view.tsx';
import { Facts, SchemaView, typeText } from './schema-view.tsx';
import { TryIt } from './try-it.tsx';
import { emptyDraft } from './try-request.ts';

interface Props {
  readonly api: Api;
  readonly operation: Operation;
}

export function OperationView({ api, operation }: Props) {
  const { description, key, 'x-grpc': grpc } = operation;
  const [draft, setDraft] = useState(() => emptyDraft(operation));
  const samples = useMemo(() => samplesOf(operation, draft), [operation, draft]);
  return (
    <div class="operation">
      <div class="described">
        <Prose text={description} />
        {key === 'adminKey' && <p class="facts">Needs an admin key.</p>}
        {key === undefined && <p class="facts">Needs no key.</p>}
        {grpc !== undefined && (
          <p class="facts">
            RPC: <a href={`/docs/rpcs#/${grpc.rpc}`}>{grpc.rpc}</a>
          </p>
        )}
      </div>
      <div class="beside">
        <Samples samples={samples} kind={key} />
        <Folded title="Try it" kind="invite">
          {() => <TryIt operation={operation} draft={draft} onDraft={setDraft} />}
        </Folded>
      </div>
      <div class="described">
        <Parameters api={api} operation={operation} />
        <RequestBody api={api} operation={operation} />
        <Answers api={api} operation={operation} />
      </div>
    </div>
  );
}

function Parameters({ api, operation: { parameters } }: Props) {
  if (parameters.length === 0) return null;
  return (
    <section>
      <h2>Parameters</h2>
      <dl class="members">
        {parameters.map(({ name, in: place, required, schema, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>{' '}
              <span class="type">
                {typeText(api, schema)}, in the {place}
              </span>
              {required && <span class="required">required</span>}
            </dt>
            <dd>
              <Prose text={description} />
              <Facts schema={schema} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function RequestBody({ api, operation: { requestBody } }: Props) {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (content?.schema === undefined) return null;
  return (
    <section>
      <h2>
        Body <span class="type">{type}</span>
      </h2>
      <SchemaView api={api} schema={content.schema} />
      {content.example !== undefined && <Example value={content.example} />}
    </section>
  );
}

function Answers({ api, operation: { responses } }: Props) {
  const { 200: success, ...errors } = responses;
  return (
    <section>
      <h2>Answer</h2>
      {success !== undefined && <Success api={api} answer={success} />}
      <Folded title={`Errors: ${Object.keys(errors).join(', ').replace('default', 'others')}`}>
        {() => (
          <dl class="members">
            {Object.entries(errors).map(([status, { description }]) => (
              <div key={status}>
                <dt>
                  <code>{status === 'default' ? 'any other' : status}</code>
                </dt>
                <dd>
                  <Prose text={description} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Folded>
    </section>
  );
}

function Success({ api, answer }: { readonly api: Api; readonly answer: Answer }) {
  const contents = Object.entries(answer.content);
  const isAudio = contents.every(([type]) => type.startsWith('audio/'));
  if (isAudio) {
    return (
      <p>
        <code>200</code> with {contents.map(([type]) => type).join(', ')}, as it is produced.
      </p>
    );
  }
  return (
    <>
      {contents.map(([type, { schema, example }]) => (
        <div key={type}>
          <p>
            <code>200</code> <span class="type">{type}</span>
          </p>
          {schema !== undefined && (
            <Folded title="Members">{() => <SchemaView api={api} schema={schema} />}</Folded>
          )}
          {example !== undefined && <Example value={example} />}
        </div>
      ))}
    </>
  );
}

function Example({ value }: { readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return <pre class="example">{text}</pre>;
}

interface FoldedProps {
  readonly title: string;
  /** `invite` styles it as a button. */
  readonly kind?: 'invite';
  readonly children: () => preact.JSX.Element;
}

/** Draws its content when it is opened for the first time. */
function Folded({ title, kind, children }: FoldedProps) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details class={kind} onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary>{title}</summary>
      {wasOpened && children()}
    </details>
  );
}
