import { expect, test } from 'vitest';
import { remembering } from '../support/gateway.ts';
import { axeViolations } from '../support/browser.ts';
import { startDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';
import { enrolled, machineAt } from '../support/tier.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const MARKDOWN = `# Title

Some **bold** text, <img src="x" onerror="document.title='owned'"> and [a link](https://example.com/x),
[no link](javascript:document.title='owned') and ![a picture](https://example.com/p.png).

<script>document.title = 'owned'</script>

\`\`\`js
const a = '<b>1</b>';
\`\`\`

| a | b | c |
| - | -: | :-: |
| 1 | 2 | 3 |
`;

async function ask(link: string, question: string) {
  const page = await openPage(link);
  await page.locator('.upstream-card').first().waitFor();
  await page.getByRole('link', { name: 'Chat', exact: true }).first().click();
  await page.locator('.composer textarea').fill(question);
  await page.keyboard.press('Enter');
  return page;
}

test('an answer’s Markdown is shown and its HTML stays text; code is copied, and the question is repeated', async () => {
  const service = await startUpstream(json(200, completion(MARKDOWN)));
  const host = await startWindowHost({
    ...NO_AGENT,
    INGLENOOK_HOSTED_A_BASE_URL: service.url,
    INGLENOOK_HOSTED_A_MODEL: 'model-a',
    INGLENOOK_HOSTED_A_API_KEY: 'key',
  });
  const page = await ask(host.controlLink(), 'Markdown?');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const answer = page.locator('.turn-answer');
  await answer.locator('strong', { hasText: 'bold' }).waitFor();
  await answer.getByRole('cell', { name: '2' }).waitFor();
  const alignments = await answer
    .locator('th, td')
    .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
  expect(alignments).toEqual(['start', 'end', 'center', 'start', 'end', 'center']);
  expect(await answer.locator('img, script, b').count()).toBe(0);
  expect(await answer.getByRole('link').allInnerTexts()).toEqual(['a link']);
  await answer.getByText('<script>').waitFor();
  expect(await page.title()).not.toContain('owned');
  expect(await axeViolations(page)).toEqual([]);
  await answer.getByRole('button', { name: 'Copy code' }).click();
  await answer.getByText('Copied').first().waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`const a = '<b>1</b>';`);

  const calls = service.calls.length;
  await page.getByRole('button', { name: 'Try again' }).click();
  await service.call(calls + 1);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  expect(await page.locator('.turn').count()).toBe(1);
});

test('a continued answer in the chat says which upstream continued it', async () => {
  const demo = await startDemo();
  await demo.type('break local cut');
  const page = await ask(demo.link, 'Hello');
  const course = page.getByText(/^Local, then Hosted A: /);
  await course.waitFor();
  expect(await course.innerText()).toContain('Local dropped the stream');
});

test('a model in the chat is found by a part of its name', async () => {
  const demo = await startDemo();
  const page = await ask(demo.link, 'Hello');
  const model = page.getByRole('combobox', { name: 'Model' });
  await model.fill('demo');
  expect(
    await model.evaluate((field: HTMLInputElement) => field.list?.options.length),
  ).toBeGreaterThan(0);
});

test('an error in the chat calls a machine by its name, and leads to Machines', async () => {
  const { stored } = machineAt(await startUpstream(), {
    record: {
      host: {
        hostname: 'attic',
        platform: 'linux',
        cpu_total: 8,
        memory_gb: 64,
        tailnet_hostname: null,
      },
      engine_health: { status: 'no answer', code: 0 },
      status: 'degraded',
    },
  });
  const fresh = { ...stored, lastHeartbeatAt: Date.now() };
  const openStore = remembering({ providers: enrolled([fresh]) });
  const host = await startWindowHost(NO_AGENT, { openStore });
  const page = await ask(host.controlLink(), 'Hello');
  await page.locator('.error-text', { hasText: 'attic has no engine that answers' }).waitFor();
  expect(await page.getByText(/prv_/).count()).toBe(0);
  await page.getByRole('link', { name: 'See Machines' }).click();
  await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
});
