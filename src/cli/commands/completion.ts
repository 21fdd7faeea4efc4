/** Completion of command lines: scripts for shells, and the hidden command that they ask at each TAB. */
import { Argument, type Command, type Option } from 'commander';
import { newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

export function completionCommand(): Command {
  return newCommand('completion', 'Print a script that completes command lines in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => printData(scripts[shell]));
}

/** Each gives the words before the cursor, the last of which may be empty or begun, to `parley complete`. */
const scripts = {
  bash: `# Completion of parley for bash: source <(parley completion bash)
_parley() {
  local word=\${COMP_WORDS[COMP_CWORD]} text
  COMPREPLY=()
  {
    read -r text
    [[ $text == no-files ]] && compopt +o default 2>/dev/null
    while IFS=$'\\t' read -r text _; do
      [[ $text == "$word"* ]] && COMPREPLY+=("$(printf %q "$text")")
    done
  } < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Where nothing fits, bash completes the names of files.
complete -o default -F _parley parley
`,
  zsh: `#compdef parley
# Completion of parley for zsh, after compinit: source <(parley completion zsh)
_parley() {
  local -a lines found
  local line
  lines=("\${(@f)$("\${words[1]}" complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in \${lines[2,-1]}; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#found )) && _describe parley found && return
  [[ $lines[1] == no-files ]] || _files
}
compdef _parley parley
`,
  fish: `# Completion of parley for fish: parley completion fish | source
function __parley_complete
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  set -l lines (command $words[1] complete -- $words[2..-1] "$word" 2>/dev/null)
  string match -q -- '-*' $word; and string match -- '-*' $lines[2..-1]; and return
  string match -v -- '-*' $lines[2..-1]
  test "$lines[1]" = no-files; or __fish_complete_path $word
end
complete -c parley -f -a '(__parley_complete)'
`,
} as const;

/** Prints whether the name of a file fits, and a line for each word that fits: the word, a tab, and what it means. */
export function completeCommand(): Command {
  return newCommand('complete', 'Print the words that may follow on a command line.')
    .argument('[words...]', 'the words after parley; the last one may be empty or begun')
    .action((words: readonly string[], _, self: Command) => complete(self.parent ?? self, words));
}

async function complete(program: Command, words: readonly string[]): Promise<void> {
  const [before, last = ''] = [words.slice(0, -1), words.at(-1)];
  const command = before.reduce((at, word) => at.commands.find((one) => one.name() === word) ?? at, program);
  const help = command.createHelp();
  const [options, inner] = [help.visibleOptions(command), help.visibleCommands(command)];
  const option = options.find((one) => takesValue(one) && namesOf(one).includes(before.at(-1) ?? ''));
  const wanted = option ? [option] : command.registeredArguments;
  const places = wanted.map((one) => ('flags' in one ? one.flags : `<${one.name()}>`)).join(' ');
  const takesAccount = places.includes('<account>') && !last.startsWith('-');
  const takesFile = option ? /<(file|folder)>/.test(places) : inner.length === 0 && !takesAccount;
  const choices = wanted.flatMap(({ argChoices = [], description }) =>
    argChoices.map((text) => [text, description]),
  );
  const names = [
    ...inner.map((one) => [one.name(), help.subcommandDescription(one)]),
    ...options.flatMap((one) => namesOf(one).map((text) => [text, one.description])),
  ];
  const lines = [...choices, ...(option ? [] : names)].map((line) => line.join('\t'));
  await printData([takesFile ? 'files' : 'no-files', ...lines].map((line) => `${line}\n`).join(''));
  // There may be no data folder yet, or no server that answers.
  if (takesAccount)
    await program.parseAsync(['account', 'list', '--names'], { from: 'user' }).catch(() => undefined);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function namesOf({ short, long }: Option): string[] {
  return [long, short].filter((name) => name !== undefined && name !== null);
}
