/** The clients of the playground's calls. */
import { createClient, type Transport } from '@connectrpc/connect';
import { createContext } from 'preact';
import { AccountService } from '../../../gen/parley/account/v1/account_service_pb.ts';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
import * as api from '../api.ts';

function clientsOf(transport: Transport) {
  return {
    account: createClient(AccountService, transport),
    catalog: createClient(CatalogService, transport),
    chat: createClient(ChatService, transport),
    speech: createClient(SpeechService, transport),
    transcription: createClient(TranscriptionService, transport),
  };
}

export interface PlayClients extends ReturnType<typeof clientsOf> {
  /** The key of an operator who plays as an account. Absent: the session's cookie. */
  readonly key?: string;
  /** Is told why a stream fails, and returns the error. */
  readonly note: (error: unknown) => unknown;
}

/** With the session's own key, unless an operator plays as an account. */
export const PlayContext = createContext<PlayClients>({ ...clientsOf(api.transport), note: api.noteFailure });

/** @param onEnded the key has expired or was revoked */
export function clientsWith(key: string, onEnded: () => void): PlayClients {
  const note = (error: unknown) => {
    api.noteConnection(error);
    if (api.isUnauthenticated(error)) onEnded();
    return error;
  };
  return { ...clientsOf(api.transportTo(note, key)), key, note };
}
