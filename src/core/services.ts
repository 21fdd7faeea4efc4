import type { AccountOperations } from './account.ts';
import type { AdminOperations } from './admin.ts';
import type { CatalogOperations } from './catalog.ts';
import type { ChatOperations } from './chat.ts';
import type { SpeechOperations } from './speech.ts';
import type { TranscriptionOperations } from './transcription.ts';

/** Every RPC of Parley as plain functions, grouped as the schema's services are. Each edge serves these. */
export interface Services {
  readonly speech: SpeechOperations;
  readonly transcription: TranscriptionOperations;
  readonly chat: ChatOperations;
  readonly catalog: CatalogOperations;
  readonly account: AccountOperations;
  readonly admin: AdminOperations;
}
