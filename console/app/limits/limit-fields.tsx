/**
 * The form for the limits of a key or an account. Its names are those of the API, so that the server's messages find
 * their field.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Limits, LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { Area, Field } from '../fields.tsx';
import { budgetPeriods, endUserPeriods, wholeLimits } from './limit-names.ts';

const wholeMax = 2_147_483_647;

interface Props {
  readonly limits?: Limits | undefined;
  /** The session's key, if the server fills empty fields from it. */
  readonly own?: Pick<Key, 'limits'> | undefined;
  /** Whether it changes several owners: an empty field leaves each as it is, unless its limit is ticked to be removed. */
  readonly isPatch?: boolean;
}

/** The names of the ticked boxes that remove a limit. */
const removed = 'remove';

type Named = readonly [field: string, name: string, label: string];
const budgetFields = budgetPeriods.map(([period, label]): Named => [period, `budgets.${period}`, label]);
const endUserFields = endUserPeriods.map(
  ([period, label]): Named => [period, `per_end_user.${period}`, label],
);
const listFields = (['Models', 'Addresses'] as const).map((label): Named => {
  const name = label.toLowerCase();
  return [name, name, label];
});

export function LimitFields({ limits, own, isPatch = false }: Props) {
  return (
    <>
      <p class="quiet">
        {isPatch
          ? 'An empty field leaves the limit of each account as it is.'
          : own === undefined
            ? 'An empty field sets no limit.'
            : 'An empty field is copied from the key of this session.'}
      </p>
      <div class="columns">
        {budgetPeriods.map(([period, label]) => (
          <Field
            key={period}
            label={label}
            name={`limits.budgets.${period}`}
            inputMode="decimal"
            autocomplete="off"
            defaultValue={limits?.budgets?.[period] ?? ''}
            placeholder={own?.limits?.budgets?.[period] ?? ''}
          />
        ))}
        {endUserPeriods.map(([period, label]) => (
          <Field
            key={label}
            label={label}
            name={`limits.per_end_user.${period}`}
            inputMode="decimal"
            autocomplete="off"
            defaultValue={limits?.perEndUser?.[period] ?? ''}
            placeholder={own?.limits?.perEndUser?.[period] ?? ''}
          />
        ))}
        {wholeLimits.map(([field, name, label]) => (
          <Field
            key={name}
            label={label}
            name={`limits.${name}`}
            type="number"
            min={0}
            max={wholeMax}
            step={1}
            defaultValue={limits?.[field] ?? ''}
            placeholder={String(own?.limits?.[field] ?? '')}
          />
        ))}
      </div>
      <Area
        label="Models"
        name="limits.models"
        rows={2}
        defaultValue={limits?.models.join('\n') ?? ''}
        placeholder={own?.limits?.models.join('\n') ?? ''}
        hint="One on each line; * stands for any characters, as in gpt-*"
      />
      <Area
        label="Addresses"
        name="limits.addresses"
        rows={2}
        defaultValue={limits?.addresses.join('\n') ?? ''}
        placeholder={own?.limits?.addresses.join('\n') ?? ''}
        hint="One on each line, such as 192.0.2.1 or 10.0.0.0/8"
      />
      {isPatch && (
        <details>
          <summary>Remove limits</summary>
          <fieldset class="checks">
            <legend>Remove from every account</legend>
            {[...budgetFields, ...endUserFields, ...wholeLimits, ...listFields].map(([, name, label]) => (
              <label key={name}>
                <input type="checkbox" name={removed} value={name} /> {label}
              </label>
            ))}
          </fieldset>
        </details>
      )}
    </>
  );
}

/**
 * The filled fields, and those that are ticked to be removed, without a value. Undefined if there are none.
 * @throws Error for a field that is both
 */
export function limitsOf(values: FormData): MessageInitShape<typeof LimitsSchema> | undefined {
  const filled = <T,>(fields: readonly Named[], read: (text: string) => T, none?: T) =>
    Object.fromEntries(
      fields.flatMap(([field, name, label]) => {
        const text = String(values.get(`limits.${name}`) ?? '').trim();
        const isRemoved = values.getAll(removed).includes(name);
        if (text !== '' && isRemoved) throw new Error(`${label}: fill it in or remove it, not both.`);
        if (text !== '') return [[field, read(text)]];
        return isRemoved ? [[field, none]] : [];
      }),
    );
  const linesOf = (text: string) => text.split(/[\s,]+/).filter((line) => line !== '');
  const budgets = filled(budgetFields, String);
  const perEndUser = filled(endUserFields, String);
  const limits = {
    ...filled(wholeLimits, Number),
    ...filled(listFields, linesOf, []),
    ...(Object.keys(budgets).length > 0 && { budgets }),
    ...(Object.keys(perEndUser).length > 0 && { perEndUser }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
