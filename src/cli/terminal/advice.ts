/** A problem and the next step as a command or a flag. Ignores advice of an unknown kind, which a newer server may send. */
export function withAdvice(problem: string, kind: string | undefined, type: string | undefined): string {
  const advice = adviceText(kind, type);
  return advice === undefined ? problem : `${problem} ${advice}`;
}

function adviceText(kind: string | undefined, type: string | undefined): string | undefined {
  const models = `\`parley models${type === undefined ? '' : ` --type ${type}`}\``;
  switch (kind) {
    case 'list_models':
      return `${models} lists those that your key can call.`;
    case 'list_voices':
      return `${models} lists its voices.`;
    case 'send_key':
      return 'Give one with --api-key or PARLEY_API_KEY; for administration with --admin-key or PARLEY_ADMIN_KEY.';
    case 'open_subscription':
      return 'The operator of the server opens one with `parley plan start-trial <account>` or `parley plan activate <account> --until <when>`.';
    case 'load_credits':
      return 'The operator of the server loads more with `parley credits load <account> <amount> --reason <text>`.';
    default:
      return undefined;
  }
}
