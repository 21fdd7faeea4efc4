import { Field } from '../../fields.tsx';
import { modelTypes, type NewModel, noModel } from './engine-yaml.ts';

interface Props {
  /** Models that the server lists. */
  readonly listed: readonly string[];
  readonly models: readonly NewModel[];
  readonly onChange: (models: readonly NewModel[]) => void;
  /** What is wrong with a field of a model. */
  readonly problemOf: (index: number, field: keyof NewModel) => string | undefined;
}

const modelsMax = 20;
/** The form offers the listed models of a server up to this number. */
const listedMax = 40;

/** The models of a server that shall be offered: those ticked, and others by their names. */
export function ModelFields({ listed, models, onChange, problemOf }: Props) {
  const isFull = models.length >= modelsMax;
  const set = (at: number, change: Partial<NewModel>) =>
    onChange(models.map((model, index) => (index === at ? { ...model, ...change } : model)));
  const isTicked = (name: string) => models.some((model) => model.name === name);
  const tick = (name: string, isOn: boolean) =>
    onChange(isOn ? [...models, { ...noModel, name }] : models.filter((model) => model.name !== name));
  return (
    <>
      {listed.length > 0 && (
        <fieldset class="checks">
          <legend>Models to offer, of those that it lists</legend>
          {listed.slice(0, listedMax).map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={isTicked(name)}
                disabled={isFull && !isTicked(name)}
                onChange={({ currentTarget }) => tick(name, currentTarget.checked)}
              />{' '}
              {name}
            </label>
          ))}
        </fieldset>
      )}
      {models.map((model, index) => (
        <ModelRow
          key={index}
          of={model}
          isListed={listed.includes(model.name)}
          onChange={(change) => set(index, change)}
          onRemove={() => onChange(models.filter((_, at) => at !== index))}
          problemOf={(field) => problemOf(index, field)}
        />
      ))}
      <p>
        <button type="button" disabled={isFull} onClick={() => onChange([...models, noModel])}>
          Add a model by its name
        </button>
      </p>
    </>
  );
}

interface RowProps {
  readonly of: NewModel;
  readonly isListed: boolean;
  readonly onChange: (change: Partial<NewModel>) => void;
  readonly onRemove: () => void;
  readonly problemOf: (field: keyof NewModel) => string | undefined;
}

function ModelRow({ of, isListed, onChange, onRemove, problemOf }: RowProps) {
  const { name, type } = of;
  const field = (label: string, own: Exclude<keyof NewModel, 'type'>, more: object = {}) => (
    <Field
      label={label}
      autocomplete="off"
      spellcheck={false}
      maxLength={200}
      value={of[own]}
      problem={problemOf(own)}
      onInput={({ currentTarget }) => onChange({ [own]: currentTarget.value })}
      {...more}
    />
  );
  const price = (label: string, own: 'input' | 'output' | 'cachedInput', hint?: string) =>
    field(label, own, { inputMode: 'decimal', hint });
  return (
    <fieldset class="checks">
      <legend>
        <strong>{isListed ? name : 'Another model'}</strong>
      </legend>
      <div class="columns">
        {!isListed && field('Its name there', 'name', { required: true })}
        {field('Public name', 'id', { placeholder: name, hint: 'Clients send it. Empty: its name there' })}
        <label class="field">
          Type
          <select
            value={type}
            aria-invalid={problemOf('type') !== undefined}
            onChange={({ currentTarget: { value } }) =>
              onChange({ type: modelTypes.find((one) => one === value) ?? 'chat' })
            }
          >
            {modelTypes.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          {problemOf('type') !== undefined && (
            <small class="problem" role="alert">
              {problemOf('type')}
            </small>
          )}
        </label>
        {type === 'chat' && (
          <>
            {price('Credits per million in', 'input')}
            {price('Credits per million out', 'output')}
            {price('Credits per million cached', 'cachedInput', 'Read from its cache. Empty: as in')}
            {field('Context', 'context', {
              inputMode: 'numeric',
              hint: 'Tokens. Empty: as the server reports',
            })}
          </>
        )}
      </div>
      {!isListed && (
        <button type="button" class="plain" onClick={onRemove}>
          Remove
        </button>
      )}
    </fieldset>
  );
}
