import * as z from 'zod';
import { name } from './models.ts';
import { group } from './setting-types.ts';

const conversation = group({
  id: name.describe('The id that clients send as `model` to /api/v1/realtime. You choose it.'),
  transcription: name.optional().describe('The id of the transcription model. Default: the one there is.'),
  chat: name.describe('The id of the chat model that answers.'),
  speech: name.describe('The id of the speech model that speaks the answers.'),
  voice: name
    .optional()
    .describe('The voice, unless the client names one. Default: the one of the speech model.'),
}).describe('A conversation: speech is transcribed, answered by a chat, and the answer is spoken.');

/** @param recogniser the id of the transcription model */
export function defaultConversations(recogniser = 'pocketsphinx'): z.input<typeof conversation>[] {
  return [{ id: 'eliza-live', transcription: recogniser, chat: 'eliza', speech: 'flite' }];
}

export const realtime = z
  .array(conversation, { error: 'a list of conversations' })
  .default([])
  .describe('Conversations: models that clients can talk to. Default: one of the default models, else none.');
