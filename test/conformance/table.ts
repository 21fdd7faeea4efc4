/** The one table: what holds on every wire, and in front of another server too. */

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
import { responseCases } from './response-cases.ts';
import { speechCases } from './speech-cases.ts';
import { recognitionCases, transcriptionCases } from './transcription-cases.ts';
import { unknownFieldCases } from './unknown-field-cases.ts';

/** Why there are no rows of a real recogniser; undefined where there are. */
export const missing = missingHearing() ?? missingPrograms('flite');
const recognition = missing === undefined ? recognitionCases(wavFile(await speak('hello my friend'))) : [];

export const table: readonly Case[] = [
  ...speechCases,
  ...transcriptionCases,
  ...recognition,
  ...chatCases,
  ...chatFailureCases,
  ...managementCases,
  ...alertCases,
  ...responseCases,
  ...completionCases,
  ...accountCases,
  ...adminCases,
  ...unknownFieldCases,
];

export const servers: readonly ServerName[] = ['builtin', 'playing', 'strict'];
