import { Argument, type Command, type Option } from 'commander';
import { newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

export function completionCommand(): Command {
  return newCommand('completion', 'Print a script that completes command lines in a shell.', [
    'source <(parley completion bash)',
    'parley completion fish > ~/.config/fish/completions/parley.fish',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: Shell, _flags: object, command: Command) => {
      const program = command.parent ?? command;
      printData(completionScripts[shell](placesOf(program)));
    });
}

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Scripts with which shells complete command lines, without running Parley unless they need names of accounts. */
const completionScripts: Readonly<Record<Shell, (places: readonly Place[]) => string>> = { bash, zsh, fish };

/** Quotes a text for the shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function alternatives(texts: readonly string[]): string {
  return texts.map(quoted).join('|');
}

function innerPaths(places: readonly Place[]): string {
  return alternatives(places.slice(1).map(({ path }) => path));
}

/** The places that have flags with values, each with one case per flag. */
function valueCases(places: readonly Place[], toCase: (flag: ValueFlag) => string): string {
  return places
    .filter(({ valueFlags }) => valueFlags.length > 0)
    .map(
      ({ path, valueFlags }) =>
        `    ${quoted(path)})\n      case "$before" in\n${valueFlags.map(toCase).join('\n')}\n      esac ;;`,
    )
    .join('\n');
}

function bash(places: readonly Place[]): string {
  const values = valueCases(places, ({ names, values }) => {
    return `        ${alternatives(names)}) ${bashValues(values)}return ;;`;
  });
  const words = places.map(({ path, words, takesAccount }) => {
    const texts = `words=${quoted(words.map(({ text }) => text).join(' '))}`;
    return `    ${quoted(path)}) ${texts}${takesAccount ? '; _parley_accounts' : ''} ;;`;
  });
  return `# Completion of parley for bash: source <(parley completion bash)
_parley_values() {
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$word"))
}
_parley_accounts() {
  local name
  [[ $word == -* ]] && return
  compopt +o default 2>/dev/null
  while IFS= read -r name; do
    [[ $name == "$word"* ]] && COMPREPLY+=("$(printf %q "$name")")
  done < <("\${COMP_WORDS[0]}" account list --names 2>/dev/null)
}
_parley() {
  local place=parley word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in ${innerPaths(places)}) place="$place \${COMP_WORDS[i]}" ;; esac
  done
  case "$place" in
${values}
  esac
  case "$place" in
${words.join('\n')}
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$word"))
}
# Where nothing fits, bash completes the names of files.
complete -o default -F _parley parley
`;
}

function bashValues(values: ValueFlag['values']): string {
  if (values === 'paths') return '';
  return values === 'accounts' ? '_parley_accounts; ' : `_parley_values ${quoted(values.join(' '))}; `;
}

function zsh(places: readonly Place[]): string {
  const values = valueCases(places, ({ names, values }) => {
    return `        ${alternatives(names)}) ${zshValues(values)}return ;;`;
  });
  const words = places.map(({ path, words, takesAccount }) => {
    const described = words.map(({ text, description }) => quoted(`${text}:${description}`));
    return `    ${quoted(path)}) found=(${described.join(' ')})${takesAccount ? '; _parley_accounts' : ''} ;;`;
  });
  return `#compdef parley
# Completion of parley for zsh, after compinit: source <(parley completion zsh)
_parley_accounts() {
  local -a names
  names=(\${(f)"$("\${words[1]}" account list --names 2>/dev/null)"})
  (( $#names )) && compadd -- "\${names[@]}"
}
_parley() {
  local place=parley before=\${words[CURRENT-1]} word
  local -a found
  for word in \${words[2,CURRENT-1]}; do
    case "$place $word" in ${innerPaths(places)}) place="$place $word" ;; esac
  done
  case "$place" in
${values}
  esac
  case "$place" in
${words.join('\n')}
  esac
  _describe parley found || _files
}
compdef _parley parley
`;
}

function zshValues(values: ValueFlag['values']): string {
  if (values === 'paths') return '_files; ';
  if (values === 'accounts') return '_parley_accounts; ';
  return values.length === 0 ? '' : `compadd -- ${values.map(quoted).join(' ')}; `;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, takesAccount, valueFlags }) => {
    const at = `complete -c parley -n ${quoted(`__parley_at ${quoted(path)}`)}`;
    const described = words.map(({ text, description }) => {
      const flag = valueFlags.find(({ names }) => names.includes(text));
      return `${at} ${fishWord(text)}${fishValue(flag)} -d ${quoted(description)}`;
    });
    if (takesAccount) described.push(`${at} -f -a '(__parley_accounts)'`);
    // Drops values that are files, not commands.
    const hasCommands = places.some((place) => place.path.startsWith(`${path} `));
    return hasCommands ? [`${at} -f`, ...described] : described;
  });
  return `# Completion of parley for fish: parley completion fish | source
function __parley_at
  set -l place parley
  for word in (commandline -opc)[2..-1]
    switch "$place $word"
      case ${places
        .slice(1)
        .map(({ path }) => quoted(path))
        .join(' ')}
        set place "$place $word"
    end
  end
  test "$place" = "$argv"
end
function __parley_accounts
  set -l words (commandline -opc)
  command $words[1] account list --names 2>/dev/null
end
${lines.join('\n')}
`;
}

function fishWord(text: string): string {
  if (text.startsWith('--')) return `-l ${text.slice(2)}`;
  return text.startsWith('-') ? `-s ${text.slice(1)}` : `-a ${text}`;
}

function fishValue(flag: ValueFlag | undefined): string {
  if (flag === undefined) return '';
  if (flag.values === 'accounts') return " -x -a '(__parley_accounts)'";
  return flag.values === 'paths' ? ' -rF' : ` -x -a ${quoted(flag.values.join(' '))}`;
}

/** The words that may follow on a command line, from the table of commands. */

interface Word {
  readonly text: string;
  readonly description: string;
}

/** A flag that takes a value. */
interface ValueFlag {
  readonly names: readonly string[];
  /** The allowed values; `paths` for files and folders; `accounts` for names of accounts; empty for any other text. */
  readonly values: readonly string[] | 'paths' | 'accounts';
}

/** A command, and the words that may follow it. */
interface Place {
  /** Words such as `parley account create`. */
  readonly path: string;
  readonly words: readonly Word[];
  /** Whether an argument is the name of an account. */
  readonly takesAccount: boolean;
  readonly valueFlags: readonly ValueFlag[];
}

/** All commands, each before its subcommands. */
function placesOf(command: Command, path = command.name()): Place[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const inner = help.visibleCommands(command);
  const words = [
    ...inner.map((one) => ({ text: one.name(), description: help.subcommandDescription(one) })),
    ...command.registeredArguments.flatMap(choicesOf),
    ...options.flatMap((option) =>
      namesOf(option).map((text) => ({ text, description: option.description })),
    ),
  ];
  const valueFlags = options
    .filter(({ required, optional }) => required || optional)
    .map((option) => ({ names: namesOf(option), values: valuesOf(option) }));
  const takesAccount = command.registeredArguments.some((argument) => argument.name() === 'account');
  const own = { path, words, takesAccount, valueFlags };
  return [own, ...inner.filter(isReal(command)).flatMap((one) => placesOf(one, `${path} ${one.name()}`))];
}

/** Commander shows a help command that is not among the commands. */
function isReal({ commands }: Command): (one: Command) => boolean {
  return (one) => commands.includes(one);
}

function choicesOf({ argChoices = [], description }: Argument): Word[] {
  return argChoices.map((text) => ({ text, description }));
}

function valuesOf({ argChoices = [], flags }: Option): ValueFlag['values'] {
  if (/<(file|folder)>/.test(flags)) return 'paths';
  return flags.includes('<account>') ? 'accounts' : argChoices;
}

function namesOf({ short, long }: Option): string[] {
  return [long, short].filter((name) => name !== undefined && name !== null);
}
