/** The guides under `/docs/guides`, in the order of their contents. Each is `docs/<name>.md`. */
export const guideGroups: Readonly<Record<string, readonly string[]>> = {
  Start: ['setup', 'architecture', 'console', 'coming-from'],
  'With other programs': [
    'claude-code',
    'codex',
    'opencode',
    'cline',
    'open-webui',
    'home-assistant',
    'livekit',
    'n8n',
  ],
  'The API': ['rest', 'errors', 'limits', 'realtime', 'reference'],
  Clients: ['clients', 'clients/typescript', 'clients/python', 'clients/go', 'clients/java'],
  Models: ['upstreams', 'local-models', 'local-chat', 'local-speech', 'local-programs', 'guard'],
  Money: ['money', 'top-up', 'alerts'],
  Operation: ['operation', 'tls', 'sign-in', 'storage', 'grow', 'binary', 'versions'],
};

/** The guide that is the first page, `/docs`. */
export const introduction = 'introduction';
