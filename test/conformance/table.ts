/** The one table: cases that must pass on every wire, and through another server too. */

import { missingHearing } from '../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { accountCases } from './account-cases.ts';
import { adminCases } from './admin-cases.ts';
import { alertCases } from './alert-cases.ts';
import type { Case, ServerName } from './case.ts';
import { chatCases } from './chat-cases.ts';
import { chatFailureCases } from './chat-failure-cases.ts';
import { completionCases } from './completion-cases.ts';
import { managementCases } from './management-cases.ts';
import { messageCases } from './message-cases.ts';
import { responseCases } from './response-cases.ts';
import { rivaCases, rivaRecognitionCases } from './riva-cases.ts';
import { speechCases } from './speech-cases.ts';
import { timeLimitCases } from './time-limit-cases.ts';
import { recognitionCases, transcriptionCases } from './transcription-cases.ts';
import { unknownFieldCases } from './unknown-field-cases.ts';

/** The reason why there are no rows of a real recogniser; undefined if there are. */
export const missing = missingHearing() ?? missingPrograms('flite');
const spoken = missing === undefined ? wavFile(await speak('hello my friend')) : undefined;
const recognition = spoken ? [...recognitionCases(spoken), ...rivaRecognitionCases(spoken)] : [];

export const table: readonly Case[] = [
  ...speechCases,
  ...transcriptionCases,
  ...recognition,
  ...chatCases,
  ...chatFailureCases,
  ...managementCases,
  ...alertCases,
  ...responseCases,
  ...messageCases,
  ...completionCases,
  ...timeLimitCases,
  ...rivaCases,
  ...accountCases,
  ...adminCases,
  ...unknownFieldCases,
];

export const servers: readonly ServerName[] = ['builtin', 'playing', 'strict'];
