import { useId } from 'preact/hooks';
import type { NewModel } from './engine-yaml.ts';

interface Props {
  readonly models: readonly NewModel[];
  readonly onChange: (models: readonly NewModel[]) => void;
}

const types = ['chat', 'speech', 'transcription'] as const;
const modelsMax = 20;

/** Names, types and prices of models, a row for each. */
export function ModelFields({ models, onChange }: Props) {
  const set = (at: number, change: Partial<NewModel>) =>
    onChange(models.map((model, index) => (index === at ? { ...model, ...change } : model)));
  return (
    <fieldset class="checks">
      <legend>Models</legend>
      {models.map((model, index) => (
        <ModelRow key={index} of={model} onChange={(change) => set(index, change)} />
      ))}
      <p>
        <button
          type="button"
          disabled={models.length >= modelsMax}
          onClick={() => onChange([...models, { name: '', type: 'chat', input: '', output: '' }])}
        >
          Add a model
        </button>
      </p>
    </fieldset>
  );
}

interface RowProps {
  readonly of: NewModel;
  readonly onChange: (change: Partial<NewModel>) => void;
}

function ModelRow({ of: { name, type, input, output }, onChange }: RowProps) {
  const id = useId();
  const price = (label: string, field: 'input' | 'output', value: string) => (
    <span class="field">
      <label for={`${id}-${field}`}>{label}</label>
      <input
        id={`${id}-${field}`}
        inputMode="decimal"
        pattern="\d+(\.\d{1,9})?"
        value={value}
        onInput={({ currentTarget }) => onChange({ [field]: currentTarget.value.trim() })}
      />
    </span>
  );
  return (
    <div class="columns">
      <span class="field">
        <label for={`${id}-name`}>Its name there</label>
        <input
          id={`${id}-name`}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          value={name}
          onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
        />
      </span>
      <span class="field">
        <label for={`${id}-type`}>Type</label>
        <select
          id={`${id}-type`}
          value={type}
          onChange={({ currentTarget: { value } }) =>
            onChange({ type: types.find((one) => one === value) ?? 'chat' })
          }
        >
          {types.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </span>
      {type === 'chat' && (
        <>
          {price('Credits per million in', 'input', input)}
          {price('Credits per million out', 'output', output)}
        </>
      )}
    </div>
  );
}
