// A reporter for Vitest that leaves behind what failed, for scripts/test.mjs to say when all lanes have ended.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from './tree.mjs';

const MOST_CHARACTERS = 600;

/** What an error says, where, and what differs; of its stack only the frames in files of this checkout's own. */
function said({ stack = '', message, diff = '' }) {
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
  const own = frames.filter((frame) => !/node_modules|node:|<anonymous>/.test(frame));
  const places = own.map((frame) =>
    frame.replace(pathToFileURL(`${ROOT}/`).href, '').replace(/\?vitest=\d+/, ''),
  );
  return [message, ...places, diff].join('\n');
}

function failure(what, errors, mark = 'FAILED') {
  const why = stripVTControlCharacters(errors.map(said).join('\n'));
  return `${mark}: ${what}\n${why.slice(0, MOST_CHARACTERS).trimEnd()}`;
}

/** Files that did not load, hooks that threw, and tests; also a test that passed only on its second try. */
function* failuresOf(file) {
  if (file.errors().length > 0) yield failure(file.relativeModuleId, file.errors());
  for (const suite of file.children.allSuites()) {
    if (suite.errors().length === 0) continue;
    yield failure(`${file.relativeModuleId} > ${suite.fullName}`, suite.errors());
  }
  for (const test of file.children.allTests()) {
    const { state, errors = [] } = test.result();
    const name = `${file.relativeModuleId} > ${test.fullName}`;
    if (state === 'failed') yield failure(name, errors);
    else if (test.diagnostic()?.flaky === true) yield failure(name, errors, 'UNSTEADY');
  }
}

export default class Failures {
  onTestRunEnd(files, unhandled) {
    const strays = unhandled.map((error) => failure('outside of any test', [error]));
    const failures = [...files.flatMap((file) => [...failuresOf(file)]), ...strays];
    writeFileSync(process.env['INGLENOOK_TEST_FAILURES'], JSON.stringify(failures));
  }
}
