/** The filters of usage, which are stored in the address. */
import { Choice } from '../fields.tsx';
import { useQuery } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { AccountField } from './account-field.tsx';
import type { NamesById } from './names.ts';
import { type RecordFilter, served } from './source.ts';

const states = ['ok', 'failed', 'refused', 'cancelled', 'interrupted', 'replayed', 'started'];

const names = ['operation', 'model', 'state', 'code', 'engine', 'status', 'account', 'key'] as const;

export interface Filters {
  readonly values: Omit<RecordFilter, 'startTime' | 'endTime' | 'id'>;
  readonly set: Readonly<Record<(typeof names)[number], (value: string) => void>>;
}

export function useFilters(): Filters {
  const [operation, setOperation] = useQuery('operation');
  const [model, setModel] = useQuery('model');
  const [state, setState] = useQuery('state');
  const [code, setCode] = useQuery('code');
  const [engine, setEngine] = useQuery('engine');
  const [status, setStatus] = useQuery('status');
  const [accountId, setAccount] = useQuery('account');
  const [keyId, setKey] = useQuery('key');
  return {
    values: { operation, model, state, code, engine, status, accountId, keyId },
    set: {
      operation: setOperation,
      model: setModel,
      state: setState,
      code: setCode,
      engine: setEngine,
      status: setStatus,
      key: setKey,
      account: (id) => {
        setKey('');
        setAccount(id);
      },
    },
  };
}

interface Props {
  readonly session: SignedIn;
  readonly filters: Filters;
  /** The name of the chosen account. */
  readonly accountName: string;
  readonly keys: NamesById;
  readonly models: readonly string[];
  /** Values that the sums have. They have them only if they are grouped by these. */
  readonly causes: Readonly<Record<Cause, readonly string[]>>;
}

export const causes = ['code', 'engine', 'status'] as const;
export type Cause = (typeof causes)[number];

const causeTexts: Readonly<Record<Cause, readonly [label: string, all: string]>> = {
  code: ['Code', 'All codes'],
  engine: ['Engine', 'All engines'],
  status: ['HTTP status', 'All statuses'],
};

export function FilterChoices({ session, filters, accountName, keys, models, causes: known }: Props) {
  const { values, set } = filters;
  const { operation, model, state, accountId, keyId } = values;
  return (
    <div class="filters">
      {session.kind === 'admin' && mayDo(session, 'accounts:read') && (
        <AccountField value={accountId} name={accountName} onChange={set.account} />
      )}
      {(session.kind === 'account' || accountId !== '') && (
        <Choice
          label="Key"
          value={keyId}
          onChange={set.key}
          all="All keys"
          options={withOwn([...keys], keyId)}
        />
      )}
      <Choice
        label="Operation"
        value={operation}
        onChange={set.operation}
        all="All operations"
        options={served}
      />
      <Choice
        label="Model"
        value={model}
        onChange={set.model}
        all="All models"
        options={withOwn(
          models.map((id) => [id, id]),
          model,
        )}
      />
      <Choice label="State" value={state} onChange={set.state} all="All states" options={states} />
      {causes
        .filter((name) => known[name].length > 0 || values[name] !== '')
        .map((name) => (
          <Choice
            key={name}
            label={causeTexts[name][0]}
            value={values[name]}
            onChange={set[name]}
            all={causeTexts[name][1]}
            options={withOwn(
              known[name].map((value) => [value, value]),
              values[name],
            )}
          />
        ))}
    </div>
  );
}

type Option = readonly [value: string, text: string];

/** Adds the value from the address to the choices. */
function withOwn(options: readonly Option[], own: string): readonly Option[] {
  return own === '' || options.some(([value]) => value === own) ? options : [[own, own], ...options];
}
