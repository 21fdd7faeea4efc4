/** The models that a key may call: their prices, contexts and voices, to hear, and the code that calls them. */
import { createClient } from '@connectrpc/connect';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model, Price } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
import { speechCode, transcriptionCode } from '../../shared/code/audio-code.ts';
import { chatCode } from '../../shared/code/chat-code.ts';
import { catalog, failureOf, isAborted, transport } from '../api.ts';
import { Dialog } from '../dialog.tsx';
import { SearchField } from '../fields.tsx';
import { wholeText } from '../format.tsx';
import { AsCode } from '../playground/as-code.tsx';
import { spokenBy } from '../playground/speech-panel.tsx';
import { useQuery } from '../router.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';

const speech = createClient(SpeechService, transport);

/** Rows at once. The search finds the others. */
const rowsMax = 200;
const sentence = 'Hello. This is how I sound.';

export function Models() {
  const models = useLoaded('models', async (signal) => (await catalog.listModels({}, { signal })).data);
  return (
    <Show of={models} what="the models">
      {(all) => <List models={all} />}
    </Show>
  );
}

function List({ models }: { readonly models: readonly Model[] }) {
  const [id, open] = useQuery('model');
  const [search, setSearch] = useQuery('search');
  const opened = models.find((model) => model.id === id);
  const found = models.filter(({ id, type, description = '' }) =>
    `${id} ${type} ${description}`.toLowerCase().includes(search.toLowerCase()),
  );
  const columns: readonly DataColumn<Model>[] = [
    {
      title: 'Model',
      form: 'row',
      order: ({ id }) => id,
      cell: ({ id }) => <a href={`?model=${encodeURIComponent(id)}`}>{id}</a>,
    },
    { title: 'Type', order: ({ type }) => type, cell: ({ type }) => type },
    price('In', 'input', 1),
    price('In, cached', 'cachedInput', 3),
    price('Out', 'output', 2),
    {
      title: 'Context',
      form: 'right',
      rank: 4,
      order: ({ contextWindow }) => contextWindow,
      cell: ({ contextWindow }) => (contextWindow === undefined ? '–' : wholeText(contextWindow)),
    },
    { title: 'Voices', form: 'right', rank: 5, cell: ({ voices }) => voices.length || '–' },
    { title: 'Falls back to', rank: 6, cell: ({ fallback }) => fallback.join(', then ') || '–' },
  ];
  if (models.length === 0)
    return <Empty title="This key may call no model.">Ask the operator of this server.</Empty>;
  return (
    <section class="card">
      <search class="filters">
        <SearchField label="Model" placeholder="Find a model" value={search} onChange={setSearch} />
        <span class="quiet">Prices are credits per million tokens. Speech and transcription cost none.</span>
      </search>
      <DataTable
        id="models"
        label="Models"
        columns={columns}
        rows={found.slice(0, rowsMax)}
        keyOf={({ id }) => id}
      />
      {found.length > rowsMax && (
        <p class="quiet">
          The first {rowsMax} of {wholeText(found.length)}. Search for the others.
        </p>
      )}
      {opened && <ModelDialog model={opened} onClose={() => open('')} />}
    </section>
  );
}

function price(title: string, own: 'input' | 'cachedInput' | 'output', rank: number): DataColumn<Model> {
  return {
    title,
    form: 'right',
    rank,
    isSecond: own === 'input',
    order: ({ price }) => price && Number(priceIn(price, own)),
    cell: ({ price }) => (price ? priceIn(price, own) : '–'),
  };
}

function priceIn(price: Price, own: 'input' | 'cachedInput' | 'output'): string {
  return price[own] ?? price.input;
}

interface ModelProps {
  readonly model: Model;
}

function ModelDialog({ model, onClose }: ModelProps & { readonly onClose: () => void }) {
  const { id, type, description, maxOutputTokens, voices } = model;
  return (
    <Dialog title={id} onClose={onClose}>
      {description !== undefined && <p>{description}</p>}
      {maxOutputTokens !== undefined && (
        <p class="quiet">An answer has at most {wholeText(maxOutputTokens)} tokens.</p>
      )}
      {voices.length > 0 && <Voices model={model} />}
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
function Voices({ model: { id, voiceDetails, defaultVoice } }: ModelProps) {
  const { heard, problem, hear } = useVoice(id);
  return (
    <section aria-label="Voices">
      <h3>Voices</h3>
      <ul class="voices">
        {voiceDetails.map(({ id: voice, language }) => (
          <li key={voice}>
            <button type="button" aria-label={`Hear ${voice}`} onClick={() => hear(voice)}>
              Hear
            </button>
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
      <p class="quiet">
        “{sentence}” A hearing counts as speech of {sentence.length} characters.
      </p>
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
