/** Builds what has changed of dist/, for tests that start the program. */
import { bundles } from '../../scripts/setup/build.mjs';
import { doSteps } from '../../scripts/setup/steps.mjs';

await doSteps([bundles]);
