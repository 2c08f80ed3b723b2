import { expect, test } from 'vitest';
import { startDemo, type RunningDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

function ask(demo: RunningDemo): Promise<string> {
  return fetch(`${demo.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  }).then((response) => response.text());
}

test('the dashboard says which call of a hedge came first', async () => {
  const demo = await startDemo();
  await demo.break('local');
  await demo.break('hosted_a', 'slow');
  const page = await openPage(demo.link);
  await ask(demo);
  const rows = page.getByRole('button', { name: /Service A was slow; Service B answered first/ });
  await expect.poll(() => rows.count()).toBeGreaterThan(0);
});

test('the dashboard shows a continuation from one upstream to the other', async () => {
  const demo = await startDemo();
  await demo.break('local', 'cut');
  const page = await openPage(demo.link);
  await ask(demo);
  await page
    .getByRole('button', { name: /Your GPUs dropped the stream; Service A continued the answer/ })
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('cell', { name: 'Your GPUs dropped the stream' }).waitFor();
  expect(await dialog.getByRole('cell', { name: 'continued it' }).count()).toBe(1);
});
