/** A form that checks a server before it is an engine, and shows the lines that make it one. */
import { useState } from 'preact/hooks';
import type { CheckEngineResponse } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { CopyButton } from '../../../shared/copy-button.tsx';
import { admin } from '../../api.ts';
import { CallForm, Dialog } from '../../dialog.tsx';
import { Field } from '../../fields.tsx';
import { Code } from '../../scroll.tsx';
import { engineYaml, keyVariable, type NewEngine, type NewModel } from './engine-yaml.ts';
import { DiagnosticList } from './findings.tsx';
import { ModelFields } from './model-fields.tsx';

const noModel: NewModel = { name: '', type: 'chat', input: '', output: '' };
/** The form offers the listed models of a server up to this number. */
const offeredMax = 40;

interface Checked {
  readonly found: CheckEngineResponse;
  /** As it was checked. The models may be changed since. */
  readonly engine: Omit<NewEngine, 'models'>;
}

export function NewEngineDialog({ onClose }: { readonly onClose: () => void }) {
  const [kind, setKind] = useState<NewEngine['kind']>('openai');
  const [models, setModels] = useState<readonly NewModel[]>([noModel]);
  const [checked, setChecked] = useState<Checked>();
  const named = models
    .map((model) => ({ ...model, name: model.name.trim() }))
    .filter(({ name }) => name !== '');
  const check = async (values: FormData) => {
    const [name, url, apiKey] = ['name', 'url', 'api_key'].map((field) =>
      String(values.get(field) ?? '').trim(),
    );
    const found = await admin.checkEngine({
      kind,
      url: url ?? '',
      chat: values.has('chat'),
      tls: values.has('tls'),
      ...(apiKey && { apiKey }),
      models: named.map(({ name, type }) => ({ name, type })),
    });
    const made = { name: name ?? '', kind, url: url ?? '', isEncrypted: values.has('tls') };
    setChecked({
      found,
      engine: { ...made, hasKey: Boolean(apiKey), withoutContext: withoutContext(found) },
    });
  };
  return (
    <Dialog title="Try a server" onClose={onClose}>
      <CallForm action="Check it" onSubmit={check}>
        <p>Nothing changes here: the check asks the server, and shows what to write in parley.yaml.</p>
        <Field
          label="Name"
          name="name"
          required
          defaultValue="upstream"
          pattern="[a-z][a-z0-9\-]{0,63}"
          autocomplete="off"
          hint="Of the engine: lower-case letters, digits and hyphens"
        />
        <label class="field">
          Kind
          <select value={kind} onChange={({ currentTarget }) => setKind(kindOf(currentTarget.value))}>
            <option value="openai">A server with the OpenAI API</option>
            <option value="remote">Another Parley</option>
          </select>
        </label>
        <Field
          label={kind === 'openai' ? 'URL' : 'Address'}
          name="url"
          required
          autocomplete="off"
          spellcheck={false}
          hint={
            kind === 'openai'
              ? 'With its version: http://127.0.0.1:8000/v1'
              : 'Such as speech.example.com:8080'
          }
        />
        <Field
          label="Its key"
          name="api_key"
          type="password"
          autocomplete="off"
          hint="Sent with this check only. Nothing keeps it."
        />
        <ModelFields models={models} onChange={setModels} />
        <p>
          {kind === 'openai' ? (
            <label>
              <input type="checkbox" name="chat" /> Ask each chat model for one token, which that server may
              charge
            </label>
          ) : (
            <label>
              <input type="checkbox" name="tls" /> Encrypt the connection
            </label>
          )}
        </p>
      </CallForm>
      {checked && (
        <Result
          of={checked}
          models={named}
          onAdd={(name) => setModels([...models.filter((model) => model.name !== ''), { ...noModel, name }])}
        />
      )}
    </Dialog>
  );
}

interface ResultProps {
  readonly of: Checked;
  readonly models: readonly NewModel[];
  readonly onAdd: (model: string) => void;
}

function Result({ of: { found, engine }, models, onAdd }: ResultProps) {
  const yaml = engineYaml({ ...engine, models });
  const others = found.models.filter((listed) => !models.some(({ name }) => name === listed));
  return (
    <section aria-label="Result" class="above">
      <h3>Found</h3>
      <DiagnosticList found={found.diagnostics} />
      <p class="actions above">
        {others.slice(0, offeredMax).map((name) => (
          <button key={name} type="button" onClick={() => onAdd(name)}>
            Add {name}
          </button>
        ))}
      </p>
      <h3>For parley.yaml</h3>
      <Code text={yaml} />
      <p>
        <CopyButton text={yaml} />
      </p>
      <p class="quiet">
        Add these lines to <code>engines</code> and <code>models</code> there
        {engine.hasKey && (
          <>
            {' '}
            and set <code>{keyVariable(engine.name)}</code> for the server, which needs a restart
          </>
        )}
        . Then run <code>parley config check</code> and <code>parley config apply</code>.
      </p>
    </section>
  );
}

const kindOf = (text: string): NewEngine['kind'] => (text === 'remote' ? text : 'openai');

/** The chat models whose context the server does not report. */
function withoutContext({ diagnostics }: CheckEngineResponse): ReadonlySet<string> {
  const prefix = 'context of ';
  const failed = diagnostics.filter(
    ({ subject, state }) => state === 'problem' && subject.startsWith(prefix),
  );
  return new Set(failed.map(({ subject }) => subject.slice(prefix.length)));
}
