/** The models and the parameters of the next questions. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import { Area, Choice, Field, RefusalContext } from '../../fields.tsx';
import type { ChatSettings } from './chat-run.ts';
import { noSettings, presetsMax, readPresets, writePresets } from './presets.ts';

export const modelsMax = 4;

interface ModelChoiceProps {
  readonly models: readonly Model[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function ModelChoice({ models, chosen, onChange }: ModelChoiceProps) {
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
  readonly owner: string;
  readonly settings: ChatSettings;
  /** What is wrong with the tools. */
  readonly problem: string | undefined;
  readonly onChange: (settings: ChatSettings) => void;
}

export function Settings({ owner, settings, problem, onChange }: SettingsProps) {
  const tools = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (tools.current && problem !== undefined) tools.current.open = true;
  }, [problem]);
  const set = (name: keyof ChatSettings) => (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange({ ...settings, [name]: event.currentTarget.value });
  return (
    <>
      <Area label="System message" rows={3} spellcheck value={settings.system} onInput={set('system')} />
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
      <details ref={tools}>
        <summary>Tools</summary>
        <RefusalContext.Provider
          value={problem === undefined ? undefined : { param: 'tools', message: problem }}
        >
          <Area
            label="Tools as JSON"
            name="tools"
            rows={6}
            placeholder={'[{"type": "function",\n  "function": {"name": "…"}}]'}
            hint="The model’s calls are shown, not made."
            value={settings.tools}
            onInput={set('tools')}
          />
        </RefusalContext.Provider>
      </details>
      <Presets owner={owner} settings={settings} onChange={onChange} />
    </>
  );
}

function Presets({ owner, settings, onChange }: Omit<SettingsProps, 'problem'>) {
  const [presets, setPresets] = useState(() => readPresets(owner));
  const [chosen, setChosen] = useState('');
  const [name, setName] = useState('');
  const names = Object.keys(presets);
  const write = (next: typeof presets, now: string) => {
    writePresets(owner, next);
    setPresets(next);
    setChosen(now);
    setName('');
  };
  const choose = (next: string) => {
    setChosen(next);
    onChange(presets[next] ?? noSettings);
  };
  return (
    <details class="presets">
      <summary>Presets</summary>
      {names.length > 0 && (
        <Choice label="Preset" all="None" value={chosen} onChange={choose} options={names} />
      )}
      {chosen !== '' && (
        <button
          type="button"
          onClick={() =>
            write(Object.fromEntries(Object.entries(presets).filter(([one]) => one !== chosen)), '')
          }
        >
          Delete the preset
        </button>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          write({ ...presets, [name.trim()]: settings }, name.trim());
        }}
      >
        <Field
          label="Name"
          required
          pattern=".*\S.*"
          maxLength={60}
          autocomplete="off"
          hint="Keeps these settings in this browser"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <button type="submit" disabled={names.length >= presetsMax && !names.includes(name.trim())}>
          Save the preset
        </button>
      </form>
    </details>
  );
}
