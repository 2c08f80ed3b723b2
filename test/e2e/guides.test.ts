import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { PROGRAM, type RunningCli, startCli } from '../support/process.ts';
import { chatOnly } from '../support/speakers.ts';
import { agentAddress, pathWithCard, soon } from '../support/two-hosts.ts';
import {
  answers,
  json,
  lists,
  REFUSED_URL,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts';

const ROOT = join(import.meta.dirname, '../..');

const PYTHON = process.env['INGLENOOK_TEST_PYTHON'] ?? 'python3';
const hasSdks = spawnSync(PYTHON, ['-c', 'import openai, anthropic']).status === 0;
if (!hasSdks)
  console.log(
    'SKIPPED: the Python of the guides; no openai and anthropic at INGLENOOK_TEST_PYTHON.',
  );

/** The gateway's address in the guides, as other machines of the network see it. */
const LAN_ADDRESS = '192.168.1.10';

const NEEDS_AGENT = /inglenook (free|resume|load)/;
const IS_START = /^inglenook start\n$/;
const SHARES = /^inglenook set gateway\.host /m;

/** 0 for the reader's usual gateway, 1 for one that the page shares on a network, 2 for one with an agent. */
function needs(page: string): number {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return NEEDS_AGENT.test(text) ? 2 : Number(SHARES.test(text));
}

/** Everything that a reader of a page has, with an engine and an API that are set as after the quick start: engines, a hosted API, a terminal, another machine. */
class Reader {
  #own = temporaryDirectory();
  readonly #other = temporaryDirectory();
  readonly #desk = temporaryDirectory();
  readonly #path: string;
  readonly #lan = agentAddress();
  #url = REFUSED_URL;
  #running: RunningCli | null = null;
  #lastOutput = '';
  /** The key that was printed last. */
  #key = '';

  readonly #engine: Upstream;
  readonly #hosted: Upstream;
  readonly #rented: Upstream;

  /** An agent costs as much to start as its gateway, and few pages use the reader's own. */
  #hasAgent = false;
  /** Whether the last page shared the gateway, which then wants a key for every command of the next. */
  #isShared = false;

  private constructor({
    engine,
    hosted,
    rented,
  }: Readonly<Record<'engine' | 'hosted' | 'rented', Upstream>>) {
    [this.#engine, this.#hosted, this.#rented] = [engine, hosted, rented];
    const shim = join(this.#desk, 'inglenook');
    writeFileSync(shim, `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, PROGRAM)}" "$@"\n`);
    chmodSync(shim, 0o755);
    this.#furnish();
    this.#path = `${this.#desk}${delimiter}${pathWithCard()}`;
  }

  static async arrive(): Promise<Reader> {
    const start = async (name: string) => {
      const upstream = await startUpstream(chatOnly(404, answers(`Hello from ${name}.`)));
      upstream.answerGet = (get) =>
        (get.path.endsWith('/models') ? lists('demo-model') : json(404, {}))(get);
      return upstream;
    };
    const engine = await start('the engine');
    const hosted = await start('the hosted API');
    return new Reader({ engine, hosted, rented: await start('the rented GPU') });
  }

  #furnish(): void {
    // A service is named after its address, which is another here.
    const hosted_a = { baseUrl: `${this.#hosted.url}/v1`, model: 'gpt-4o-mini', label: 'OpenAI' };
    const settings = JSON.stringify({ local: { baseUrl: this.#engine.url }, hosted_a });
    writeFileSync(join(this.#own, 'settings.json'), settings);
  }

  /** Turns to the next page: it may need another gateway than the last one, whose settings stay unless it was shared. */
  async turnTo(page: string): Promise<void> {
    const hasAgent = NEEDS_AGENT.test(page);
    if (this.#isShared || this.#hasAgent !== hasAgent) await this.#stop();
    if (this.#isShared) {
      this.#own = temporaryDirectory();
      this.#furnish();
    }
    this.#isShared = SHARES.test(page);
    this.#hasAgent = hasAgent;
  }

  /** Does what a block says; gives the lines that it should print and does not, or null where it cannot be done here. */
  async run(block: Block): Promise<readonly string[] | null> {
    const { language, note } = block;
    const [kind = ''] = note.split(':');
    if (kind === 'no-test' || (language === 'python' && !hasSdks)) return null;
    if (kind === 'after') await this.#engine.close();
    if (kind === 'stopped') await this.#stop();
    else if (!IS_START.test(block.code) && this.#running === null) await this.#start();
    const missing =
      kind === 'soon'
        ? await soon(async () => this.#whole(await this.#do(block, false)))
        : await this.#do(block, kind === 'on');
    if (kind === 'after') await this.#engine.reopen();
    if (kind === 'stopped') await this.#start();
    return missing;
  }

  #whole(missing: readonly string[]): readonly string[] {
    if (missing.length > 0) throw new Error(`${missing.join('\n')} is not in ${this.#lastOutput}`);
    return missing;
  }

  /** `isOther`: on the other machine. */
  async #do({ language, code, printed }: Block, isOther: boolean): Promise<readonly string[]> {
    const text = this.#placed(code);
    this.#lastOutput = IS_START.test(code)
      ? await this.#start(isOther)
      : await this.#type(language, text, isOther);
    this.#key = /^sy-\S+/m.exec(this.#lastOutput)?.[0] ?? this.#key;
    const lines = printed.map((line) => this.#placed(line));
    return missingLines(lines, this.#lastOutput);
  }

  /** The text with the addresses of this test in place of those in the page. */
  #placed(text: string): string {
    const token = /inglenook join \S+ ([0-9a-f]{64})/.exec(this.#lastOutput)?.[1] ?? '<token>';
    return text
      .replaceAll(/http:\/\/(localhost|192\.168\.1\.10):47900/g, this.#url)
      .replaceAll('http://192.168.1.11:47900', REFUSED_URL)
      .replaceAll(LAN_ADDRESS, this.#lan)
      .replaceAll('gateway.host 0.0.0.0', `gateway.host ${this.#lan}`)
      .replaceAll('http://127.0.0.1:11434', this.#engine.url)
      .replaceAll('https://api.openai.com/v1', `${this.#hosted.url}/v1`)
      .replaceAll('https://api.runpod.ai/v2/ENDPOINT_ID/openai', this.#rented.url)
      .replaceAll('<token>', token)
      .replaceAll('sy-…', this.#key);
  }

  /** Starts the gateway, in place of one that runs; `isOther` starts another machine as well. */
  async #start(isOther = false): Promise<string> {
    const hasAgent = isOther || this.#hasAgent;
    const agent = hasAgent ? { AGENT: 'true', AGENT_HOST: agentAddress() } : {};
    const DATA_DIR = isOther ? this.#other : this.#own;
    const own = { DATA_DIR, PORT: '0', ...agent };
    if (isOther) return startCli(own).printed(/Dashboard: [^]*/);
    await this.#stop();
    const cli = startCli(own);
    this.#running = cli;
    this.#url = new URL(await cli.printed(/Base URL for your apps: (\S+)/)).origin;
    return cli.printed(/^[^]*Dashboard: \S+/);
  }

  async #stop(): Promise<void> {
    this.#running?.kill('SIGTERM');
    await this.#running?.ended;
    this.#running = null;
  }

  async #type(language: Block['language'], code: string, isOther: boolean): Promise<string> {
    const env = {
      PATH: this.#path,
      // The clients of most pages are the same ones.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: this.#desk,
      INGLENOOK_DATA_DIR: isOther ? this.#other : this.#own,
      INGLENOOK_AGENT_HOST: this.#lan,
    };
    const commands = {
      sh: ['bash', '-euo', 'pipefail', '-c', code],
      python: [PYTHON, '-c', code],
      ts: [process.execPath, '--input-type=module-typescript', '--eval', code],
    } as const;
    const [command, ...args] = commands[language];
    // TypeScript finds the packages of the repository.
    const cwd = language === 'ts' ? ROOT : this.#desk;
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    const status = await new Promise((resolve) => child.on('close', resolve));
    if (status !== 0) throw new Error(`It failed (${String(status)}): ${code}\n${output}`);
    return output;
  }
}

interface Outcome extends Block {
  readonly page: string;
  readonly missing: readonly string[] | null;
}

/** Runs the blocks of a page; those that did not print what it says. */
async function followPage(reader: Reader, page: string): Promise<readonly Outcome[]> {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = blocksOf(text);
  const notes = blocks.map(({ note }) => note).filter((note) => note !== '');
  expect(notes.filter((note) => !/^(no-test|after|on|soon|stopped): \S/.test(note))).toEqual([]);
  await reader.turnTo(text);
  const outcomes: Outcome[] = [];
  for (const block of blocks) outcomes.push({ page, ...block, missing: await reader.run(block) });
  const ran = outcomes.filter(({ missing }) => missing !== null);
  expect([page, ran.length > 0]).toEqual([page, true]);
  return ran.filter(({ missing }) => missing?.length !== 0);
}

/** A block of code in a page, with what the page says it prints. */
interface Block {
  readonly language: 'sh' | 'python' | 'ts';
  /** What stands behind the language: `no-test: why`, `after: …`, `on: …`, `soon: …`, `stopped: …`. */
  readonly note: string;
  readonly code: string;
  /** Lines of the `text` block that follows; `…` is anything. */
  readonly printed: readonly string[];
}

const FENCE = /^( *)```(\w+)(?: ([^\n]*))?\n([\s\S]*?)^\1```$/gm;

/** The blocks of a page that a reader would run, in their order. */
function blocksOf(page: string): readonly Block[] {
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
function missingLines(printed: readonly string[], output: string): readonly string[] {
  return printed.filter((line) => !asPattern(line).test(output));
}

/** The width of columns depends on what is in them. */
const asPattern = (line: string) =>
  new RegExp(
    line
      .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('…', '.*')
      .replaceAll(/ {2,}/g, ' {2,}'),
  );

test.each(['get-started', 'guides'])(
  'the commands of the pages in docs/%s run, and print what they say',
  async (folder) => {
    const reader = await Reader.arrive();
    const wrong: Outcome[] = [];
    const pages = globSync(`docs/${folder}/*.md`, { cwd: ROOT }).toSorted();
    // One gateway serves all pages that need none of their own, so they come first.
    for (const page of pages.toSorted((a, b) => needs(a) - needs(b)))
      wrong.push(...(await followPage(reader, page)));
    expect(wrong).toEqual([]);
  },
  // A hundred programs, each of which a busy machine starts in seconds.
  600_000,
);
