import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Language, Parser, type Node } from 'web-tree-sitter';
import { windowsInstaller, windowsLine } from '../../../main/gateway/api/install-routes.ts';

// No PowerShell runs here; a grammar of it reads what it would run.

const GRAMMAR = import.meta.resolve('tree-sitter-powershell/tree-sitter-powershell.wasm');

const parser = await startParser();

async function startParser(): Promise<Parser> {
  await Parser.init();
  const language = await Language.load(fileURLToPath(GRAMMAR));
  return new Parser().setLanguage(language);
}

/** The lines that the grammar cannot read. */
function unreadable(script: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (node.isError || node.isMissing) found.push(`${node.startPosition.row + 1}: ${node.text}`);
    node.children.forEach(visit);
  };
  const tree = parser.parse(script);
  if (tree === null) throw new Error('the grammar was not loaded');
  visit(tree.rootNode);
  return found;
}

const URL = 'http://192.168.1.10:47900';
const INSTALLER = windowsInstaller({
  url: URL,
  name: 'inglenook',
  version: '0.1.0',
  sha256: '0'.repeat(64),
});

test('the installer for Windows and the line that runs it are valid PowerShell', () => {
  expect(unreadable(INSTALLER)).toEqual([]);
  expect(unreadable(windowsLine(URL).replace('<token>', 'a'.repeat(64)))).toEqual([]);
});

test('a command for PowerShell can be pasted, whatever is in the path of the home', () => {
  const shown = INSTALLER.split('\n').filter((line) =>
    /^\s*(Write-Host|throw) .*\$command/.test(line),
  );
  expect(shown).toHaveLength(3);
  for (const line of shown) {
    // In quotes, and run by "&": "C:\\Users\\Ann Lee" has a blank.
    expect(line.replaceAll('& `"$command`"', '')).not.toContain('$command');
  }
});

test.each([
  ['a bracket', '-ne 0) {', '-ne 0 {'],
  ['a quote', "its error is above.'", 'its error is above.'],
  ['the end of a block', '} finally {', 'finally {'],
])('the installer for Windows is not valid PowerShell without %s', (_what, whole, broken) => {
  expect(INSTALLER).toContain(whole);
  expect(unreadable(INSTALLER.replace(whole, broken))).not.toEqual([]);
});
