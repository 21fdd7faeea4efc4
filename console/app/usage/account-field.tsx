/** The filter of one account, found by a part of its name at any number of accounts. */
import { useEffect, useId, useState } from 'preact/hooks';
import { admin, failureOf } from '../api.ts';
import { useLoaded } from '../states.tsx';

const offeredMax = 20;

interface Props {
  /** The account's id; empty: all accounts. */
  readonly value: string;
  readonly name: string;
  readonly onChange: (id: string) => void;
}

export function AccountField({ value, name, onChange }: Props) {
  const id = useId();
  const [text, setText] = useState(name);
  const [problem, setProblem] = useState<string>();
  useEffect(() => setText(name), [name]);
  const part = text === name ? '' : text.trim();
  const offered = useLoaded(`accounts with ${part}`, async (signal) => {
    const request = {
      pageSize: offeredMax,
      orderBy: 'last_used',
      ...(part !== '' && { nameContains: part }),
    };
    return (await admin.listAccounts(request, { signal })).accounts;
  });
  const choose = async (chosen: string) => {
    setProblem(undefined);
    if (chosen === '') return onChange('');
    if (chosen === name) return;
    try {
      const { account } = await admin.getAccount({ accountId: chosen });
      if (account) onChange(account.id);
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  };
  return (
    <span class="choice">
      <label for={id}>Account</label>
      <input
        id={id}
        type="search"
        list={`${id}-names`}
        placeholder="All accounts"
        autocomplete="off"
        maxLength={100}
        value={text}
        aria-invalid={problem !== undefined || undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          const isOffered = offered.value?.some((account) => account.name === currentTarget.value);
          if (isOffered || (currentTarget.value === '' && value !== '')) void choose(currentTarget.value);
        }}
        onChange={({ currentTarget }) => void choose(currentTarget.value.trim())}
      />
      <datalist id={`${id}-names`}>
        {offered.value?.map((account) => (
          <option key={account.id} value={account.name} />
        ))}
      </datalist>
      {problem !== undefined && (
        <small id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </small>
      )}
    </span>
  );
}
