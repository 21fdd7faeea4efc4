/**
 * The form for the limits of a key or an account. Its names are those of the API, so that the server's messages find
 * their field.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Limits, LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import type { Key } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { Area, Field } from '../fields.tsx';
import { budgetPeriods, endUserPeriods, wholeLimits } from './limit-names.ts';

const wholeMax = 2_147_483_647;

interface Props {
  readonly limits?: Limits | undefined;
  /** The session's key, if the server fills empty fields from it. */
  readonly own?: Pick<Key, 'limits'> | undefined;
  /** The effect of an empty field. */
  readonly note?: string;
}

export function LimitFields({ limits, own, note }: Props) {
  return (
    <>
      <p class="quiet">
        {note ??
          (own === undefined
            ? 'An empty field sets no limit.'
            : 'An empty field is copied from the key of this session.')}
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
    </>
  );
}

/** Undefined if no field is filled. */
export function limitsOf(values: FormData): MessageInitShape<typeof LimitsSchema> | undefined {
  const text = (name: string) => String(values.get(`limits.${name}`) ?? '').trim();
  const lines = (name: string) =>
    text(name)
      .split(/[\s,]+/)
      .filter((line) => line !== '');
  const filled = <T,>(
    fields: readonly (readonly [field: string, name: string, ...string[]])[],
    read: (text: string) => T,
  ) =>
    Object.fromEntries(
      fields.flatMap(([field, name]) => (text(name) === '' ? [] : [[field, read(text(name))]])),
    );
  const budgets = filled(
    budgetPeriods.map(([period]) => [period, `budgets.${period}`] as const),
    (amount) => amount,
  );
  const perEndUser = filled(
    endUserPeriods.map(([period]) => [period, `per_end_user.${period}`] as const),
    (amount) => amount,
  );
  const limits = {
    ...filled(wholeLimits, Number),
    ...(Object.keys(budgets).length > 0 && { budgets }),
    ...(Object.keys(perEndUser).length > 0 && { perEndUser }),
    models: lines('models'),
    addresses: lines('addresses'),
  };
  const isEmpty = Object.keys(limits).length === 2 && limits.models.length + limits.addresses.length === 0;
  return isEmpty ? undefined : limits;
}
