/** A block of code in a page, with what the page says it prints. */
export interface Block {
  readonly language: 'sh' | 'python' | 'ts';
  /** What stands behind the language: `no-test: why`, `after: …`, `on: …`, `soon: …`. */
  readonly note: string;
  readonly code: string;
  /** Lines of the `text` block that follows; `…` is anything. */
  readonly printed: readonly string[];
}

const FENCE = /^( *)```(\w+)(?: ([^\n]*))?\n([\s\S]*?)^\1```$/gm;

/** The blocks of a page that a reader would run, in their order. */
export function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = [];
  for (const [, , language = '', note = '', code = ''] of page.matchAll(FENCE)) {
    if (language === 'sh' || language === 'python' || language === 'ts')
      blocks.push({ language, note, code, printed: [] });
    const last = blocks.at(-1);
    if (language === 'text' && note === '' && last !== undefined && last.printed.length === 0)
      blocks[blocks.length - 1] = { ...last, printed: linesOf(code) };
  }
  return blocks;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The lines that `output` lacks. */
export function missingLines(printed: readonly string[], output: string): readonly string[] {
  return printed.filter((line) => !asPattern(line).test(output));
}

const asPattern = (line: string) =>
  new RegExp(
    line
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*'),
  );
