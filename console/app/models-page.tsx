/**
 * The models with their prices, contexts and voices, and the code that calls them. Holders of keys see those that their key may call and hear
 * their voices; operators see all of the server, and change them in parley.yaml.
 */
import { createClient } from '@connectrpc/connect';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ModelState } from '../../gen/parley/admin/v1/admin_pb.ts';
import type { Model, Price } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { speechCode, transcriptionCode } from '../shared/code/audio-code.ts';
import { chatCode } from '../shared/code/chat-code.ts';
import { admin, catalog, failureOf, isAborted, transport } from './api.ts';
import { Dialog } from './dialog.tsx';
import { SearchField } from './fields.tsx';
import { wholeText } from './format.tsx';
import { later } from './later.tsx';
import { AsCode } from './playground/as-code.tsx';
import { spokenBy } from './playground/speech-panel.tsx';
import { useQuery } from './router.ts';
import { mayDo, type SignedIn } from './session.ts';
import { Empty, Show, useLoaded } from './states.tsx';
import { type DataColumn, DataTable } from './table/data-table.tsx';

const Entries = later(
  'the entries of the file',
  async () => (await import('./operator/server/entries.tsx')).Entries,
);
const NewEngineDialog = later(
  'the form',
  async () => (await import('./operator/server/new-engine.tsx')).NewEngineDialog,
);

const speech = createClient(SpeechService, transport);

/** Rows at once. The search finds the others. */
const rowsMax = 200;
const sentence = 'Hello. This is how I sound.';

/** A model, with its state if the reader is an operator. */
interface ModelRow {
  readonly model: Model;
  readonly state?: Omit<ModelState, 'model' | '$typeName' | '$unknown'>;
}

export function ModelsPage({ session }: { readonly session: SignedIn }) {
  const isHolder = session.kind === 'account';
  const mayChange = mayDo(session, 'configuration');
  const [isTrying, setTrying] = useState(false);
  const models = useLoaded(`models ${isHolder}`, async (signal): Promise<readonly ModelRow[]> => {
    if (isHolder) return (await catalog.listModels({}, { signal })).data.map((model) => ({ model }));
    return (await admin.getServerState({}, { signal })).models.flatMap(({ model, ...state }) =>
      model === undefined ? [] : { model, state },
    );
  });
  const file = useLoaded(`configuration ${mayChange}`, async (signal) =>
    mayChange ? admin.getConfiguration({}, { signal }) : undefined,
  );
  const saved = () => {
    setTrying(false);
    models.reload();
    file.reload();
  };
  return (
    <>
      <div class="title">
        <h1>Models</h1>
        {mayDo(session, 'server') && (
          <button type="button" class="primary" onClick={() => setTrying(true)}>
            Try a server
          </button>
        )}
      </div>
      {isTrying && <NewEngineDialog file={file.value} onSaved={saved} onClose={() => setTrying(false)} />}
      <Show of={models} what="the models">
        {(all) => <List models={all} isHolder={isHolder} />}
      </Show>
      {mayChange && (
        <Show of={file} what="the configuration file">
          {(shown) => shown && <Entries of={shown} onSaved={saved} />}
        </Show>
      )}
    </>
  );
}

interface ListProps {
  readonly models: readonly ModelRow[];
  readonly isHolder: boolean;
}

function List({ models, isHolder }: ListProps) {
  const [id, open] = useQuery('model');
  const [search, setSearch] = useQuery('search');
  const opened = models.find(({ model }) => model.id === id);
  const found = models.filter(({ model: { id, type, description = '' } }) =>
    `${id} ${type} ${description}`.toLowerCase().includes(search.toLowerCase()),
  );
  if (isHolder && models.length === 0)
    return <Empty title="This key may call no model.">Ask the operator of this server.</Empty>;
  return (
    <section class="card">
      <search class="filters">
        <SearchField label="Model" placeholder="Find a model" value={search} onChange={setSearch} />
        <span class="quiet">Prices are credits per million tokens. Speech and transcription cost none.</span>
      </search>
      <DataTable
        id={isHolder ? 'models' : 'server-models'}
        label="Models"
        columns={isHolder ? columns : [...columns, ...serverColumns]}
        rows={found.slice(0, rowsMax)}
        keyOf={({ model }) => model.id}
      />
      {found.length > rowsMax && (
        <p class="quiet">
          The first {rowsMax} of {wholeText(found.length)}. Search for the others.
        </p>
      )}
      {opened && <ModelDialog model={opened.model} mayHear={isHolder} onClose={() => open('')} />}
    </section>
  );
}

const columns: readonly DataColumn<ModelRow>[] = [
  {
    title: 'Model',
    form: 'row',
    order: ({ model }) => model.id,
    cell: ({ model: { id } }) => <a href={`?model=${encodeURIComponent(id)}`}>{id}</a>,
  },
  {
    title: 'Type',
    rank: 3,
    isSecond: true,
    order: ({ model }) => model.type,
    cell: ({ model }) => model.type,
  },
  price('In', 'input', 1),
  price('In, cached', 'cachedInput', 6),
  price('In, to cache', 'cacheWrite', 9),
  price('Out', 'output', 2),
  {
    title: 'Context',
    form: 'right',
    rank: 5,
    order: ({ model }) => model.contextWindow,
    cell: ({ model: { contextWindow } }) => (contextWindow === undefined ? '–' : wholeText(contextWindow)),
  },
  { title: 'Voices', form: 'right', rank: 7, cell: ({ model }) => model.voices.length || '–' },
  {
    title: 'Falls back to',
    form: 'wrap',
    rank: 8,
    cell: ({ model }) => model.fallback.join(', then ') || '–',
  },
];

/** What operators see besides. */
const serverColumns: readonly DataColumn<ModelRow>[] = [
  { title: 'Engines', form: 'wrap', rank: 4, cell: ({ state }) => state?.engines.join(', then ') },
  {
    title: 'State',
    form: 'scopes',
    order: ({ state }) => String(state?.available),
    cell: ({ state: { available, disabled, reason } = {} }) => (
      <span class={`badge ${available ? 'ok' : disabled ? '' : 'failed'}`}>
        {available ? 'available' : disabled ? 'disabled' : reason}
      </span>
    ),
  },
];

type PriceName = 'input' | 'cachedInput' | 'cacheWrite' | 'output';

function price(title: string, own: PriceName, rank: number): DataColumn<ModelRow> {
  const text = (of: Price) => of[own] ?? of.input;
  return {
    title,
    form: 'right',
    rank,
    isSecond: rank < 3,
    order: ({ model }) => model.price && Number(text(model.price)),
    cell: ({ model }) => (model.price ? text(model.price) : '–'),
  };
}

interface ModelProps {
  readonly model: Model;
  /** Whether the session may speak: admin keys may not. */
  readonly mayHear: boolean;
}

function ModelDialog({ model, mayHear, onClose }: ModelProps & { readonly onClose: () => void }) {
  const { id, type, description, maxOutputTokens, voices } = model;
  return (
    <Dialog title={id} onClose={onClose}>
      {description !== undefined && <p>{description}</p>}
      {maxOutputTokens !== undefined && (
        <p class="quiet">An answer has at most {wholeText(maxOutputTokens)} tokens.</p>
      )}
      {voices.length > 0 && <Voices model={model} mayHear={mayHear} />}
      <AsCode
        isOpen
        samples={
          type === 'chat'
            ? chatCode({
                model: id,
                messages: [{ role: 'user', content: 'Hello' }],
                temperature: '',
                maxTokens: '',
              })
            : type === 'speech'
              ? speechCode({ model: id, input: 'Hello.', voice: model.defaultVoice ?? '', format: 'mp3' })
              : transcriptionCode({ model: id, file: 'recording.wav' })
        }
      />
    </Dialog>
  );
}

/** Each voice says a sentence, which costs fair use as any speech does. */
function Voices({ model: { id, voiceDetails, defaultVoice }, mayHear }: ModelProps) {
  const { heard, problem, hear } = useVoice(id);
  return (
    <section aria-label="Voices">
      <h3>Voices</h3>
      <ul class="voices">
        {voiceDetails.map(({ id: voice, language }) => (
          <li key={voice}>
            {mayHear && (
              <button type="button" aria-label={`Hear ${voice}`} onClick={() => hear(voice)}>
                Hear
              </button>
            )}
            <span>
              {voice} <span class="quiet">{voice === defaultVoice ? `${language}, default` : language}</span>
            </span>
          </li>
        ))}
      </ul>
      {heard && (
        // biome-ignore lint/a11y/useMediaCaption: it says the sentence that is written below it
        <audio controls autoplay src={heard.url} aria-label={`The voice ${heard.voice}`} />
      )}
      {mayHear && (
        <p class="quiet">
          “{sentence}” A hearing counts as speech of {sentence.length} characters.
        </p>
      )}
      <p class="problem" role="alert">
        {problem}
      </p>
    </section>
  );
}

function useVoice(model: string) {
  const [heard, setHeard] = useState<{ readonly voice: string; readonly url: string }>();
  const [problem, setProblem] = useState<string>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => () => URL.revokeObjectURL(heard?.url ?? ''), [heard]);
  const hear = async (voice: string) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setProblem(undefined);
    try {
      const { audio } = await spokenBy(
        speech,
        { model, voice, input: sentence, format: 'mp3' },
        abort.signal,
      );
      setHeard({ voice, url: URL.createObjectURL(audio) });
    } catch (error) {
      if (!isAborted(error)) setProblem(failureOf(error).message);
    }
  };
  return { heard, problem, hear: (voice: string) => void hear(voice) };
}
