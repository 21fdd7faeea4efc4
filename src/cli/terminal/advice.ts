import { type AdviceKind, adviceKinds } from '../../core/values/errors.ts';

const words: Readonly<Record<AdviceKind, (type: string | undefined) => string>> = {
  list_models: (type) => `${modelsCommand(type)} lists those that your key can call.`,
  choose_model: (type) => `${modelsCommand(type)} lists those that your key can call.`,
  list_voices: (type) => `${modelsCommand(type)} lists its voices.`,
  send_key: () =>
    'Give one with --api-key or PARLEY_API_KEY, for administration with --admin-key or PARLEY_ADMIN_KEY.',
  open_subscription: () =>
    'The operator of the server opens one with `parley plan start-trial <account>` or `parley plan activate <account> --until <when>`.',
  load_credits: () =>
    'The operator of the server loads more with `parley credits load <account> <amount> --reason <text>`.',
};

function modelsCommand(type: string | undefined): string {
  return `\`parley models${type === undefined ? '' : ` --type ${type}`}\``;
}

/** The problem and the next step, as commands and flags. Ignores an unknown kind of advice, which a newer server may send. */
export function withAdvice(problem: string, kind: string | undefined, type: string | undefined): string {
  const known = adviceKinds.find((name) => name === kind);
  return known === undefined ? problem : `${problem} ${words[known](type)}`;
}
