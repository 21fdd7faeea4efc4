/** A form that checks a server before it is an engine, and adds it with its models to parley.yaml. */
import { useRef, useState } from 'preact/hooks';
import type {
  CheckEngineResponse,
  GetConfigurationResponse,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { CopyButton } from '../../../shared/copy-button.tsx';
import { admin } from '../../api.ts';
import { CallForm, Dialog } from '../../dialog.tsx';
import { Field } from '../../fields.tsx';
import { Message } from '../../format.tsx';
import { Code } from '../../scroll.tsx';
import { engineEdits, engineYaml, keyVariable, type NewEngine, type NewModel } from './engine-yaml.ts';
import { Change, changed } from './entry-dialog.tsx';
import { DiagnosticList } from './findings.tsx';
import { contextOf, type LineProblems, lineProblems } from './line-problems.ts';
import { ModelFields } from './model-fields.tsx';

/** A server with models to offer, and what the configuration check says about it. */
interface Made {
  readonly engine: NewEngine;
  readonly apiKey: string;
  readonly version: string;
  readonly diff: readonly string[];
  readonly problems: LineProblems;
}

const nothing = { diff: [], findings: [] };

interface Props {
  /** The file to add it to; undefined without the right to change it. */
  readonly file: GetConfigurationResponse | undefined;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function NewEngineDialog({ file, onSaved, onClose }: Props) {
  const [kind, setKind] = useState<NewEngine['kind']>('openai');
  const [models, setModels] = useState<readonly NewModel[]>([]);
  const [found, setFound] = useState<CheckEngineResponse>();
  /** Undefined as soon as a field is changed. */
  const [made, setMade] = useState<Made>();
  const problems = made?.problems.atFields;
  const changes = useRef(0);
  const change = () => {
    changes.current++;
    setMade(undefined);
  };
  const check = async (values: FormData) => {
    const { engine, apiKey } = wanted(values, kind, models);
    const before = changes.current;
    setMade(undefined);
    const answer = await admin.checkEngine({
      kind,
      url: engine.url,
      chat: values.has('chat'),
      ...(apiKey && { apiKey }),
      models: engine.models.map(({ name, type }) => ({ name, type })),
    });
    setFound(answer);
    if (models.length === 0 || file === undefined) return;
    const { path, version, entries } = file;
    const edits = engineEdits(engine, apiKey);
    // Without a file that can be read again, the lines are only to copy.
    const { diff, findings } =
      path === '' ? nothing : await admin.changeConfiguration({ version, edits, validateOnly: true });
    if (changes.current !== before) throw new Error('Something changed during the check. Check again.');
    const modelsBefore = entries.filter(({ section }) => section === 'models').length;
    const problems = lineProblems(findings, engine, modelsBefore, answer);
    setMade({ engine, apiKey, version, diff, problems });
  };
  return (
    <Dialog title="Try a server" onClose={onClose}>
      <div onInput={change}>
        <CallForm action="Check it" onSubmit={check}>
          <EngineFields kind={kind} onKind={setKind} problems={problems} />
          {found && (
            <ModelFields
              listed={found.models}
              models={models}
              onChange={(changed) => {
                setModels(changed);
                change();
              }}
              problemOf={(index, field) => problems?.get(`models[${index}].${field}`)}
            />
          )}
        </CallForm>
      </div>
      {found && (
        <section aria-label="Result" class="above">
          <h3>Found</h3>
          <DiagnosticList found={stillOpen(found, made)} />
          {file === undefined && (
            <p class="quiet">
              A key with the scope <code>configuration</code> can add its models here.
            </p>
          )}
          {file !== undefined && made === undefined && (
            <p class="quiet">Choose the models to offer, then check again to add them to parley.yaml.</p>
          )}
          {file !== undefined && made !== undefined && <Lines of={made} file={file} onSaved={onSaved} />}
        </section>
      )}
    </Dialog>
  );
}

interface EngineFieldsProps {
  readonly kind: NewEngine['kind'];
  readonly onKind: (kind: NewEngine['kind']) => void;
  readonly problems: LineProblems['atFields'] | undefined;
}

function EngineFields({ kind, onKind, problems }: EngineFieldsProps) {
  return (
    <>
      <p>The check asks the server and changes nothing.</p>
      <Field
        label="Name"
        name="name"
        required
        defaultValue="upstream"
        pattern="[a-z][a-z0-9\-]{0,63}"
        autocomplete="off"
        hint="Of the engine: lower-case letters, digits and hyphens"
        problem={problems?.get('name')}
      />
      <label class="field">
        Kind
        <select value={kind} onChange={({ currentTarget }) => onKind(kindOf(currentTarget.value))}>
          {Object.entries(kinds).map(([value, { title }]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Field
        label="URL"
        name="url"
        required
        autocomplete="off"
        spellcheck={false}
        hint={`With its version: ${kinds[kind].url}`}
        problem={problems?.get('url')}
      />
      <Field
        label="Its key"
        name="api_key"
        type="password"
        autocomplete="off"
        hint="Kept only if you save it: in a file that only the server reads."
      />
      <p>
        <label>
          <input type="checkbox" name="chat" /> Ask each chat model for one token, which that server may
          charge
        </label>
      </p>
    </>
  );
}

function wanted(values: FormData, kind: NewEngine['kind'], models: readonly NewModel[]) {
  const text = (field: string) => String(values.get(field) ?? '').trim();
  const apiKey = text('api_key');
  const trimmed = models.map((model): NewModel => {
    const entries = Object.entries(model).map(([field, value]) => [field, value.trim()]);
    return { ...model, ...Object.fromEntries(entries) };
  });
  const engine: NewEngine = {
    name: text('name'),
    kind,
    url: text('url'),
    hasKey: apiKey !== '',
    models: trimmed,
  };
  return { engine, apiKey };
}

interface LinesProps {
  readonly of: Made;
  readonly file: GetConfigurationResponse;
  readonly onSaved: () => void;
}

function Lines({ of: { engine, apiKey, version, diff, problems }, file, onSaved }: LinesProps) {
  const { atFields, others } = problems;
  if (atFields.size + others.length > 0) {
    return (
      <div class="problem" role="alert">
        <p>Parley would refuse this in parley.yaml. Correct the fields, then check again.</p>
        {others.map((message) => (
          <p key={message}>
            <Message text={message} />
          </p>
        ))}
      </div>
    );
  }
  if (file.problem !== undefined) return <LinesToCopy engine={engine} problem={file.problem} />;
  const save = async () => {
    changed(await admin.changeConfiguration({ version, edits: engineEdits(engine, apiKey) }));
    onSaved();
  };
  return (
    <>
      <h3>For parley.yaml</h3>
      <Change diff={diff} />
      <CallForm action="Save and use it" onSubmit={save} />
    </>
  );
}

interface LinesToCopyProps {
  readonly engine: NewEngine;
  readonly problem: string;
}

function LinesToCopy({ engine, problem }: LinesToCopyProps) {
  const yaml = engineYaml(engine);
  return (
    <>
      <h3>For parley.yaml</h3>
      <p role="status">
        <Message text={problem} />
      </p>
      <Code text={yaml} />
      <p>
        <CopyButton text={yaml} />
      </p>
      {engine.hasKey && (
        <p class="quiet">
          Set <code>{keyVariable(engine.name)}</code> for the server, which needs a restart for a new
          variable.
        </p>
      )}
    </>
  );
}

/** The findings without those about a context that is written in the lines. */
function stillOpen({ diagnostics }: CheckEngineResponse, made: Made | undefined) {
  const written = (made?.engine.models ?? []).filter(({ context }) => context !== '');
  return diagnostics.filter(({ subject }) => !written.some(({ name }) => subject === contextOf(name)));
}

const kinds: Readonly<Record<NewEngine['kind'], { readonly title: string; readonly url: string }>> = {
  openai: { title: 'A server with the OpenAI API', url: 'http://127.0.0.1:8000/v1' },
  anthropic: { title: 'A server with the Messages API', url: 'https://api.anthropic.com/v1' },
  remote: { title: 'Another Parley', url: 'https://gateway.example.com/api/v1' },
};

const kindOf = (text: string): NewEngine['kind'] =>
  text === 'remote' || text === 'anthropic' ? text : 'openai';
