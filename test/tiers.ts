/** The files of `npm test`, and those that `npm test -- --all` and .ci/run add (docs/internal/testing.md). */

/** Tests that only all tests play, by what they have in common. */
export const later: Readonly<Record<string, readonly string[]>> = {
  'Programs that are started again and again': [
    'test/app/log-secrets.test.ts',
    'test/cli/{alerts,completion,config,config-apply,confirm,doctor,exports,first-admin-key,first-commands}.test.ts',
    'test/cli/{keys,listen,live-serve,loaded-packages,local-model-states,local-models,prune,restart,runtimes}.test.ts',
    'test/cli/{speak,table,talk}.test.ts',
    'test/config/team-keys.test.ts',
    'test/engines/builtin/transcription-later.test.ts',
    'test/engines/local/*.test.ts',
    'test/engines/process/{process,settings}.test.ts',
    'test/models/catalogue.test.ts',
    'test/scripts/{deploy,deploy-cluster,deploy-prometheus,release,setup,setup-packages}.test.ts',
    'test/supervisor/{program,supervisor}.test.ts',
  ],
  'Full disks, upgrades and owners of a database': [
    'test/app/full-log.test.ts',
    'test/store/migrations/*.test.ts',
    'test/store/sqlite/{disk-full,ownership}.test.ts',
  ],
  'Recordings of every container, attacks and memory': [
    'test/app/idle-memory.test.ts',
    'test/engines/lying-files.test.ts',
    'test/engines/builtin/moonshine/moonshine.test.ts',
    'test/transports/http/attacks.test.ts',
    'test/transports/heavy-requests.test.ts',
  ],
  'The console in a browser': ['test/console/{playground-*,sign-in}.test.ts'],
  'Other SDKs, guides and examples': [
    'test/clients/{ai-sdk-audio,anthropic-thinking,browser,coming-from,guide-commands,live,pages,python}.test.ts',
    'test/clients/{openai-agents,openai-agents-realtime,openai-realtime,openai-responses,recorded-requests,tls-guide}.test.ts',
    'test/clients/chat-clients/*.test.ts',
    'test/examples/*.test.ts',
  ],
};

/** Tests of the first tier that start Parley as a process. */
export const startingParley = [
  'test/app/demo.test.ts',
  'test/cli/admin.test.ts',
  'test/cli/chat.test.ts',
  'test/cli/serve.test.ts',
  'test/cli/transcribe.test.ts',
  'test/engines/process/page.test.ts',
  'test/store/maintenance/backup.test.ts',
  'test/supervisor/killed-parley.test.ts',
];

/** Tests of the first tier on PostgreSQL. */
export const firstOnPostgres = [
  'test/conformance/conformance.test.ts',
  'test/core/billing/money-concurrency.test.ts',
  'test/store/books.test.ts',
  'test/store/limit-counts.test.ts',
  'test/store/postgres/away.test.ts',
  'test/store/postgres/copy.test.ts',
  'test/store/postgres/known-funds.test.ts',
  'test/store/store.test.ts',
];
