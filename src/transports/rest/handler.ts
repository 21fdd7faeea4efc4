import type { HTTPMethod } from 'find-my-way';
import FindMyWay from 'find-my-way';
import { basePath } from '../../core/values/base-path.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { quote } from '../../core/values/quote.ts';
import { nearestFirst } from '../../core/values/suggestion.ts';
import type { PortHandler } from '../http/server.ts';
import { pathOf, plainPath, requestHead } from '../request-head.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';

/**
 * Serves the REST paths. Any other path is answered with `not_found` as JSON.
 * @param pages for browsers; the advice for a wrong path does not list them
 * @param rpcs refuses requests for a wrong path that are meant for RPCs
 */
export function restHandler(
  routes: readonly Route[],
  pages: readonly Route[],
  rpcs: { readonly areMeantBy: (request: Request) => boolean; readonly refuse: PortHandler },
  deps: CallDeps,
): PortHandler {
  const router: Router = { fixed: new Map(), others: FindMyWay() };
  for (const route of [...routes, ...pages]) {
    const { rule } = route;
    const named: NamedRoute = { ...route, name: `${rule.verb} ${rule.path}` };
    const hasVariables = /[:*]/.test(rule.path);
    for (const verb of rule.verb === 'GET' ? (['GET', 'HEAD'] as const) : [rule.verb]) {
      // The router only finds routes; each is kept in its `store`.
      if (hasVariables) router.others.on(verb, rule.path, () => undefined, named);
      else router.fixed.set(`${verb} ${rule.path}`, { store: named, params: {} });
    }
  }
  const served: ServedPaths = {
    isServed: (verb, path) => find(router, verb, path, (route) => route.isFor === undefined) !== undefined,
    listed: routes.map(({ rule }) => `${rule.verb} ${readablePath(rule.path)}`),
  };
  return (request, response, client) => {
    const { headers, method, url } = request;
    const isFor = (route: Route) => route.isFor?.(request) ?? true;
    const found = find(router, method as FindMyWay.HTTPMethod, pathOf(url), isFor);
    if (found === undefined && rpcs.areMeantBy(request)) return rpcs.refuse(request, response, client);
    const call = new ServedCall(requestHead('rest', client, headers), deps);
    const exchange = new Exchange(request, response, call);
    answer(exchange, found, served).catch((error: unknown) => exchange.fail(error));
  };
}

/** A route with the name of its operation in traces. */
type NamedRoute = Route & { readonly name: string };

interface Router {
  /** By verb and path. In the other router, a fixed path takes 10 KB. */
  readonly fixed: Map<string, Pick<FindMyWay.FindResult<FindMyWay.HTTPVersion.V1>, 'store' | 'params'>>;
  readonly others: FindMyWay.Instance<FindMyWay.HTTPVersion.V1>;
}
type Found = ReturnType<typeof find>;
type Request = Parameters<PortHandler>[0];

async function answer(exchange: Exchange, found: Found, served: ServedPaths): Promise<void> {
  if (found === undefined) return exchange.served.refuseUnserved(wrongPath(exchange.path, served));
  const { name, rpc, handle } = found.store as NamedRoute;
  const opening = rpc && exchange.served.open(rpc, name);
  if (opening) await opening;
  await handle(exchange, found.params);
}

function find(router: Router, verb: FindMyWay.HTTPMethod, path: string, isFor: (route: Route) => boolean) {
  const found = router.fixed.get(`${verb} ${plainPath(path)}`) ?? router.others.find(verb, path);
  return found === null || found.params['*'] === '' || !isFor(found.store as Route) ? undefined : found;
}

/** People may also write `/api/v1/keys/:key/rotate`. */
function readablePath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace('*', '{id}');
}

const verbs = ['GET', 'POST'] as const;
/** Prefixes that clients send in place of the base path, or twice. */
const prefixPattern = /^(?:\/(?:api|v1))+(?=\/|$)/;
/** Administration alone has twice as many. */
const listedPathsMax = 16;
/** No served path is longer, so more letters cannot bring one nearer. */
const comparedCharactersMax = 100;

interface ServedPaths {
  isServed(verb: HTTPMethod, path: string): boolean;
  /** Verb and path of each route of the API and of each probe, such as `GET /api/v1/models/{id}`. */
  readonly listed: readonly string[];
}

/** The error `not_found`, with the path or the method that the client probably meant. */
function wrongPath(path: string, served: ServedPaths): ParleyError {
  return new ParleyError('not_found', { message: adviceFor(path, served) });
}

function adviceFor(path: string, served: ServedPaths): string {
  const allowed = verbsOf(path, served);
  if (allowed.length > 0) {
    return `There is nothing at this path for this method. Use ${allowed.join(' or ')}.`;
  }
  const tail = withoutSlash(path).replace(prefixPattern, '');
  const meant = basePath + tail;
  if (verbsOf(meant, served).length === 0) return `There is nothing at this path. ${listFor(tail, served)}`;
  const advice = `There is nothing at this path. Send the request to ${quote(meant)}.`;
  // SDKs of the Messages API append the version themselves.
  const base = tail.startsWith('/messages') ? basePath.replace(/\/v1$/, '') : basePath;
  return path.startsWith(`${basePath}/`) ? advice : `${advice} In an SDK, end the base URL in ${base}.`;
}

/** The served paths, nearest first. Paths of administration are listed only for a path of administration. */
function listFor(tail: string, { listed }: ServedPaths): string {
  const isAdmin = (path: string) => path.includes('/admin');
  const shown = listed.filter((path) => isAdmin(path) === isAdmin(tail));
  const compared = tail.slice(0, comparedCharactersMax);
  const ranked = compared === '' ? shown : nearestFirst(compared, shown, withoutVerb);
  const list = `Paths, nearest first: ${ranked.slice(0, listedPathsMax).join(', ')}.`;
  const foreign = foreignPathAdvice(tail);
  return foreign === undefined ? list : `${foreign} ${list}`;
}

const withoutVerb = (path: string) => path.replace(/^\w+ (\/api\/v1)?/, '');

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function verbsOf(path: string, { isServed }: ServedPaths): readonly string[] {
  return verbs.filter((verb) => isServed(verb, path));
}

/** Paths of other APIs that clients try, and the client's setting that leads here instead. */

interface ForeignPath {
  /** Matches the path without the prefixes `/api` and `/v1`. */
  readonly pattern: RegExp;
  readonly advice: string;
}

const foreignPaths: readonly ForeignPath[] = [
  {
    pattern: /^\/(responses|conversations)(\/|$)/,
    advice:
      "No response or conversation is stored here: send the whole conversation each time. To use chat completions: `setOpenAIAPI('chat_completions')` in @openai/agents, `provider.chat()` in the AI SDK, `useResponsesApi: false` in LangChain.",
  },
  {
    pattern: /^\/realtime$/,
    advice:
      'A realtime session opens over a WebSocket: `GET /api/v1/realtime` with the header `Upgrade: websocket`, which proxies must pass on.',
  },
  {
    pattern: /^\/realtime\/calls(\/|$)/,
    advice:
      "There are no calls over WebRTC or SIP. Open a session over a WebSocket at `/api/v1/realtime`: `transport: 'websocket'` in @openai/agents.",
  },
  {
    pattern: /^\/realtime\//,
    advice:
      'A secret for a browser comes from `POST /api/v1/realtime/client_secrets`. Sessions open over a WebSocket at `/api/v1/realtime`, with `?model=` for a conversation or `?intent=transcription`.',
  },
  {
    pattern: /^\/live(\/|$)/,
    advice:
      'Live speech has its sessions at `/api/v1/realtime`, over a WebSocket, and in the RPC `parley.audio.v1.TranscriptionService/StreamTranscribe`.',
  },
  {
    pattern: /^\/audio\/translations$/,
    advice:
      'Recordings are transcribed in the language that is spoken, not translated. Use `POST /audio/transcriptions`.',
  },
  {
    pattern: /^\/messages(\/|$)/,
    advice:
      'Of the Messages API there are `POST /api/v1/messages` and `POST /api/v1/messages/count_tokens`. End the base URL of its clients in /api.',
  },
  {
    pattern: /^\/v1beta\//,
    advice: "This is a path of Google's API. Choose OpenAI or “OpenAI compatible” as the client's provider.",
  },
  {
    pattern: /^\/openai\/(deployments|responses)(\/|$)/,
    advice: "This is a path of Azure's API. Choose OpenAI, not Azure, as the client's provider.",
  },
  {
    pattern: /^\/(chat|generate|tags|show|embed|ps|version)$/,
    advice: "This is a path of Ollama's API. Choose OpenAI or “OpenAI compatible” as the client's provider.",
  },
  {
    pattern:
      /^\/(embeddings|images|moderations|files|uploads|batches|fine_tuning|assistants|threads|vector_stores|videos|rerank)(\/|$)/,
    advice:
      'Parley serves speech, transcription and chat. Give the client another server for this, or turn it off.',
  },
];

/** The advice for a path of another API; undefined for any other path. @param path without prefixes */
function foreignPathAdvice(path: string): string | undefined {
  return foreignPaths.find(({ pattern }) => pattern.test(path))?.advice;
}
