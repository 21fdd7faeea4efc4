/** The examples in the help of commands. A command without lines of its own has the first one of each that it contains. */
const lines = `
parley serve --demo   # with an account and keys to try
parley serve --host 0.0.0.0 --port 80 --data-dir /var/lib/parley
parley config apply
parley config show
PARLEY_PORT=9000 parley config show --config parley.yaml
parley config check
parley config check parley.example.yaml
parley health           # whether it answers
parley health --ready   # whether it accepts requests
parley doctor
parley doctor --config /etc/parley.yaml --json
source <(parley completion bash)
parley completion fish > ~/.config/fish/completions/parley.fish
parley notices | less
parley account create acme
parley account list
parley account list --state trial --sort credits
parley account show acme
parley account limits acme --budget-per-month 100 --requests-per-minute 600
parley account limits acme --none
parley account rename acme acme-corp
parley account suspend acme
parley account resume acme
parley account export acme > acme.jsonl
parley account delete acme
parley key create --account acme
parley key create --account acme --name phone --scopes speech,chat --expires 90d
parley key create --admin --name ops   # a key for admin calls
parley key create --admin --name shop --scopes credits:load
parley key invite --account acme --name Ada --console https://parley.example.com
parley key invite --admin --name Ben --scopes accounts:read --console https://parley.example.com --mail ben@example.com
parley key list --account acme
parley key list --admin
parley key rotate key_… --overlap 24h   # the old key works for one more day
parley key rotate key_… --yes           # the old key ends at once
parley key limits key_… --requests-per-minute 60 --budget-per-month 20
parley key limits key_… --models "gpt-*" --addresses 10.0.0.0/8
parley key limits key_… --none
parley key revoke key_…
parley keys list
parley keys create --name app --budget-per-month 20
parley keys create --name phone --scopes speech,chat --expires 90d --models "gpt-*"
parley keys limits key_… --requests-per-minute 60
parley keys limits key_… --none   # those of your own key stay
parley keys rotate key_… --overlap 24h   # the old key works for one more day
parley keys revoke key_…
parley keys usage --by key,day
parley keys usage --by day --since 30d --json
parley audit --limit 100
parley audit --search acme --since 7d
parley audit export > audit.jsonl
parley audit export --after aud_0193… >> audit.jsonl   # continue after the last line of the file
parley alerts show
parley alerts show acme   # of an account, as administrator
parley alerts set --webhook https://example.com/alerts --percents 80,100 --balance-below 5
parley alerts set acme --mail ops@example.com
parley alerts set --matrix '!id:example.com' --homeserver https://matrix.example.com --token-file token
parley alerts set acme --none
parley alerts confirm --code ABCD-EFGH-JKMN
parley alerts confirm --send-again ops@example.com
parley alerts list
parley alerts test
parley plan start-trial acme
parley plan activate acme --until 2027-01-31
parley plan end acme
parley credits load acme 25 --reason "Invoice 1042"
parley credits load acme 25 --reason "Invoice 1042" --idempotency-key invoice-1042   # loads once, however often it runs
parley credits adjust acme -2.5 --reason "Loaded too much"
parley credits show
parley credits ledger
parley credits ledger acme --limit 100   # as administrator
parley statement                         # of this month
parley statement acme --month 2026-11   # as administrator
parley usage
parley usage --own   # of the account of your API key
parley usage --since 24h --state failed --json
parley usage --code upstream_error --engine azure
parley usage show req_0197a3c2f4d87b1e9c55d0e2a6b8f301   # why it failed: the x-request-id of its answer
parley usage export --csv --since 2027-01-01 > usage.csv
parley usage export --jsonl --account acme --since 30d | gzip > acme.jsonl.gz
parley usage focus --provider "Acme AI" --currency EUR --credit-price 0.9 --since 2026-11-01 > focus.csv
parley usage totals
parley usage totals --by account,month --since 2027-01-01
parley usage totals --by account --top 10 --top-by cost
parley usage totals --by end_user --top 10 --top-by cost --since 30d --until 2027-01-31
parley usage totals --by engine,code --since 7d --until 2027-01-31
parley prices diff prices.json
parley prices diff https://prices.example.com/models.json --credits-per-unit 1.2 --json
parley models
parley models --type speech --json
parley models list
parley models available
parley models pull moonshine-tiny-en   # of \`parley models available\`
parley models pull ./small.json   # a manifest
parley models add https://example.com/small.gguf#sha256=… --licence Apache-2.0 --context-tokens 8192
parley models import ./small.gguf --licence Apache-2.0 --context-tokens 8192
parley models import ./kokoro --type speech --licence Apache-2.0 --voice af_heart=en-US
parley models verify
parley models rm small
parley engines
parley engines load local/small
parley engines unload local/small
parley runtimes list
parley runtimes install llama --archive https://example.com/llama-linux-x64.tar.gz --sha256 …
parley runtimes verify
parley backup /backups/parley.db
parley backup "/backups/parley-$(date +%F).db" --data-dir /var/lib/parley
parley restore /backups/parley.db
parley restore /backups/parley.db --no-keep   # delete the replaced database
parley migrate --dry-run # only list the pending migrations
parley migrate # before the first server of a new version starts
parley store copy --to postgres
PARLEY_STORE_KIND=postgres PARLEY_STORE_URL=postgres://… parley store copy --to postgres --data-dir /var/lib/parley
parley store copy --to sqlite --data-dir /srv/copy
parley prune --keep-days 90
parley prune --keep-days 90 --yes          # does not ask, such as in a timer
parley prune --before 2027-01-01 --dry-run # only count the records
parley speak "Good morning." -o morning.mp3
parley speak --voice slt -o chapter.opus < chapter.txt
parley speak "Good morning." --format wav | aplay
parley transcribe morning.mp3
parley transcribe --format srt --output-dir subtitles *.mp4
parley transcribe --words meeting.mp3   # with the times of each word
parley listen   # the microphone, until Ctrl-C
parley listen speech.wav
arecord -q -t raw -f S16_LE -r 16000 | parley listen -
parley talk   # until Ctrl-C; with headphones, as it hears itself
parley talk question.wav -o answer.wav
parley talk --instructions "Answer in one sentence." --voice slt
parley chat "What is a heron?"
parley chat --system "Answer in one word." "What colour is the sky?"
parley chat   # a conversation; /quit or Ctrl-D ends it, Ctrl-C ends an answer
parley version
parley model-program amy amy.sock '{"dataDir": "data", "runtime": "data/runtimes/sherpa", "threads": 1, "callsMax": 2}'
parley complete ke
`;

/** @param name such as `parley key create` @param inner the names of the commands that it contains */
export function examplesOf(name: string, inner: readonly string[]): string[] {
  const of = (command: string) => {
    const pattern = new RegExp(`(?:^|[ (])${command}(?: |\\)|$)`);
    return lines.split('\n').filter((line) => pattern.test(line));
  };
  const ofInner = inner.map((one) => of(`${name} ${one}`));
  // All lines have the name of the program.
  const own = name === 'parley' ? [] : of(name).filter((line) => !ofInner.flat().includes(line));
  return [...own, ...ofInner.flatMap(([first]) => first ?? [])];
}
