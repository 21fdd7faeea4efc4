/** Scripts with which shells complete command lines, without running Parley. */
import type { Place, ValueFlag } from './places.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionScripts: Readonly<Record<Shell, (places: readonly Place[]) => string>> = {
  bash,
  zsh,
  fish,
};

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
    const found = values === 'paths' ? '' : `_parley_values ${quoted(values.join(' '))}; `;
    return `        ${alternatives(names)}) ${found}return ;;`;
  });
  const words = places.map(
    ({ path, words }) => `    ${quoted(path)}) words=${quoted(words.map(({ text }) => text).join(' '))} ;;`,
  );
  return `# Completion of parley for bash: source <(parley completion bash)
_parley_values() {
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$word"))
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
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
# Where nothing fits, bash completes the names of files.
complete -o default -F _parley parley
`;
}

function zsh(places: readonly Place[]): string {
  const values = valueCases(places, ({ names, values }) => {
    const found =
      values === 'paths'
        ? '_files; '
        : values.length === 0
          ? ''
          : `compadd -- ${values.map(quoted).join(' ')}; `;
    return `        ${alternatives(names)}) ${found}return ;;`;
  });
  const words = places.map(({ path, words }) => {
    const described = words.map(({ text, description }) => quoted(`${text}:${description}`));
    return `    ${quoted(path)}) found=(${described.join(' ')}) ;;`;
  });
  return `#compdef parley
# Completion of parley for zsh, after compinit: source <(parley completion zsh)
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

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, valueFlags }) => {
    const at = `complete -c parley -n ${quoted(`__parley_at ${quoted(path)}`)}`;
    const described = words.map(({ text, description }) => {
      const flag = valueFlags.find(({ names }) => names.includes(text));
      return `${at} ${fishWord(text)}${fishValue(flag)} -d ${quoted(description)}`;
    });
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
${lines.join('\n')}
`;
}

function fishWord(text: string): string {
  if (text.startsWith('--')) return `-l ${text.slice(2)}`;
  return text.startsWith('-') ? `-s ${text.slice(1)}` : `-a ${text}`;
}

function fishValue(flag: ValueFlag | undefined): string {
  if (flag === undefined) return '';
  return flag.values === 'paths' ? ' -rF' : ` -x -a ${quoted(flag.values.join(' '))}`;
}
