/** Replaces `better-sqlite3` in the executable: it loads the native code from inside. */
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { loadNativeCode } from './native-code.ts';

export default new Proxy(Sqlite, {
  construct(target, [file, options]: [string, Sqlite.Options?]) {
    const nativeBinding = loadNativeCode(dirname(file));
    return Reflect.construct(target, [file, { ...options, nativeBinding }]);
  },
});
