#!/usr/bin/env node
'use strict';
// Old syntax, so that an old Node can say what is missing instead of failing at the first new word.
if (parseInt(process.versions.node, 10) < 24) {
  console.error(
    'Inglenook needs Node 24 or newer, and this is Node ' +
      process.versions.node +
      ': install a newer one from https://nodejs.org and run the same command again.',
  );
  process.exitCode = 1;
} else {
  require('./headless.js');
}
