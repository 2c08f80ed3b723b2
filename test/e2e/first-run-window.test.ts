import type { Locator, Page } from 'playwright-core';
import { expect, test, vi } from 'vitest';
import { startModelServer } from '../support/agent.ts';
import { axeViolations } from '../support/browser.ts';
import { turnTo } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import {
  answers,
  chunk,
  cut,
  error,
  lists,
  REFUSED_URL,
  stall,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

/** A service with two models that answers what it is told to. */
async function startService(script = answers('Hello from the service')): Promise<Upstream> {
  const service = await startUpstream(script);
  service.answerGet = lists('small', 'large');
  return service;
}

const station = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function isFocused(field: Locator): Promise<void> {
  await expect.poll(() => field.evaluate((it) => it === document.activeElement)).toBe(true);
}

test('a first start leads to an answered message over a hosted API in four clicks, without shell or restart', async () => {
  const service = await startService();
  const { page } = await openWindowHost();
  let clicks = 0;
  const click = async (doing: Promise<unknown>) => {
    clicks += 1;
    await doing;
  };
  await page.getByRole('heading', { name: 'Connect your first model' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await click(page.getByLabel('Service').selectOption('Another OpenAI-compatible API'));
  await page.getByLabel('Base URL').fill(service.url.replace('http://', ''));
  await page.getByLabel('API key').fill('sk-pasted');
  await click(page.getByRole('combobox', { name: 'Model' }).selectOption('large'));
  await click(page.getByRole('button', { name: 'Save and test' }).click());
  await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
  await station(page, new URL(service.url).host).getByText('serving').waitFor();
  await click(page.getByRole('link', { name: 'Send a first message' }).click());
  await isFocused(page.getByRole('textbox', { name: 'Prompt' }));
  await page.keyboard.type('Hello');
  await page.keyboard.press('Enter');
  await page.getByText('Hello from the service').waitFor();
  expect(clicks).toBe(4);
  expect(service.calls.at(-1)?.json).toMatchObject({ model: 'large' });
  expect(service.calls.at(-1)?.headers.authorization).toBe('Bearer sk-pasted');
});

test('a first start offers the engine of a machine without a GPU, and Enter continues from there', async () => {
  const engine = await startModelServer(answers('Hello from the engine'));
  const settings = { INGLENOOK_AGENT: 'true', INGLENOOK_ENGINE_URL: engine.url };
  const { page } = await openWindowHost(settings);
  await page.getByText('Nothing is set up yet.').waitFor();
  await page.getByText(/No GPU was found/).waitFor();
  await page.getByRole('button', { name: /Use this engine/ }).click();
  await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
  await page.getByRole('link', { name: 'Send a first message' }).press('Enter');
  await isFocused(page.getByRole('textbox', { name: 'Prompt' }));
  await page.keyboard.type('Hello');
  await page.keyboard.press('Enter');
  await page.getByText('Hello from the engine').waitFor();
  const message = { role: 'user', content: 'Hello' };
  expect(engine.calls.at(-1)?.json['messages']).toEqual([message]);
});

test('a first start by an address that is wrong or dead is explained', async () => {
  const { page } = await openWindowHost();
  await page.getByText('Nothing is set up yet.').waitFor();
  const address = page.getByRole('textbox', { name: 'Engine address' });
  await address.fill('ftp://nowhere');
  await address.press('Enter');
  await page.getByText(/must be an http:\/\/ or https:\/\/ address/).waitFor();
  await address.fill('127.0.0.1:1');
  await address.press('Enter');
  await page.getByText(/Failed: unreachable/).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Nothing can answer now.' }).waitFor();
  await page.getByText('Your GPUs do not answer (unreachable).').waitFor();
  expect(await axeViolations(page)).toEqual([]);
});

test('the form of a hosted upstream keeps a key to its service, says what is wrong, tries again, and lets a model be named', async () => {
  const service = await startService();
  await service.close();
  const { page } = await openWindowHost();
  await page.getByLabel('Service').selectOption('OpenAI');
  await page.getByLabel('API key').fill('sk-of-openai');
  await page.getByLabel('Service').selectOption('Groq');
  await page.getByText('sent only to https://api.groq.com/openai/v1').waitFor();
  expect(await page.getByLabel('API key').inputValue()).toBe('');

  await page.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await page.getByLabel('Base URL').fill('ftp://nowhere');
  await page.getByText(/“Base URL” must be an http/).waitFor();
  await page.getByLabel('Base URL').fill(service.url);
  await page.getByText(`nothing listens at ${new URL(service.url).host}`).waitFor();
  await service.reopen();
  const again = page.getByRole('button', { name: 'Try again' });
  await again.click();
  await page.getByRole('combobox', { name: 'Model' }).waitFor();

  service.answerGet = ({ res }) => void res.writeHead(404).end();
  await page.getByLabel('Base URL').fill(`${service.url}/v1`);
  await page.getByText(/without a list of models/).waitFor();
  const save = page.getByRole('button', { name: 'Save and test' });
  expect(await save.isDisabled()).toBe(true);
  await page.getByRole('textbox', { name: 'Model' }).fill('by-hand');
  await service.close();
  await save.click();
  await page.getByText(/Failed: unreachable/).waitFor();
  await service.reopen();
  expect(await page.getByText("'baseUrl'").count()).toBe(0);
  // The list of models has one too.
  await again.last().click();
  await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
  expect(service.calls[0]?.json).toMatchObject({ model: 'by-hand' });
});

test('a tried prompt shows who answered and why, is stored nowhere, leaves its card as high as it was, and is stopped by its button; failures and tests at the card are explained', async () => {
  const service = await startService(answers('First answer'));
  const { host, page } = await openWindowHost({
    INGLENOOK_LOCAL_ENGINE_URL: REFUSED_URL,
    INGLENOOK_HOSTED_A_BASE_URL: service.url,
    INGLENOOK_HOSTED_A_MODEL: 'large',
    INGLENOOK_HOSTED_A_LABEL: 'Hosted A',
  });
  const prompt = page.getByRole('textbox', { name: 'Prompt' });
  const send = async () => {
    await prompt.fill('Hello');
    await prompt.press('Enter');
  };
  await send();
  await page.getByText('First answer').waitFor();
  await page.getByText('Answered by Hosted A with large. Your GPUs were unreachable.').waitFor();
  expect(service.calls[0]?.json['messages']).toEqual([{ role: 'user', content: 'Hello' }]);
  expect(await faultsOf(page)).toEqual([]);
  const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
  expect(stored).not.toMatch(/answer|Hello/);
  const { id } = host.snapshot().requests[0] ?? { id: '' };
  await page.getByRole('link', { name: 'See the request' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(id).first().waitFor();
  await page.keyboard.press('Escape');
  // Its address goes after it, and would replace another one that came sooner.
  await dialog.waitFor({ state: 'detached' });

  await turnTo(page, '#/');
  service.script = stall(chunk({ content: 'It begins' }));
  const card = station(page, 'Hosted A');
  const height = async () => (await card.boundingBox())?.height;
  const heightAtRest = await height();
  await send();
  await page.getByText('It begins').waitFor();
  await card.getByText('running').waitFor();
  expect(await height()).toBe(heightAtRest);
  await page.getByRole('button', { name: 'Stop' }).click();
  await service.calls[1]?.gone;
  await page.getByRole('button', { name: 'Send' }).waitFor();
  expect(service.calls).toHaveLength(2);

  service.script = error(500, 'broken');
  await send();
  await page
    .getByText(/No source answered\..*HTTP 500/)
    .first()
    .waitFor();

  service.script = error(401, 'Incorrect API key provided');
  const check = card.getByRole('button', { name: 'Test Hosted A' });
  const fails = () => host.snapshot().status.circuits['hosted_a']?.fails;
  const before = fails();
  await check.click();
  await card.getByText('Incorrect API key provided').waitFor();
  expect(fails()).toBe(before);
  const asked = service.calls.length;
  await page.getByLabel('Never spend money').check();
  await card.getByText('switched off').waitFor();
  await check.click();
  await card.getByText(/Not tested\..*cost money/).waitFor();
  expect(service.calls).toHaveLength(asked);
});

test('an answer that broke off says why it was not continued, and one click asks the other source', async () => {
  const own = await startModelServer(cut(chunk({ content: 'It begins' })));
  const service = await startService(answers('Whole'));
  const { page } = await openWindowHost({
    INGLENOOK_LOCAL_ENGINE_URL: own.url,
    INGLENOOK_HOSTED_A_BASE_URL: service.url,
    INGLENOOK_HOSTED_A_MODEL: 'large',
    INGLENOOK_HOSTED_A_LABEL: 'Groq',
  });
  await page.getByRole('textbox', { name: 'Prompt' }).fill('Hello');
  await page.keyboard.press('Enter');
  await page.getByText('It was not continued, because Groq has another model.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Ask Groq now' }).click();
  await page.getByText('Whole', { exact: true }).waitFor();
  await page.getByText(/^Answered by Groq with large/).waitFor();
});

test('a long answer to a tried prompt scrolls to its end in its own box, and its source stands below', async () => {
  const service = await startService(answers(`${'A long answer. '.repeat(2_000)}Its end`));
  const { page } = await openWindowHost({ INGLENOOK_HOSTED_A_BASE_URL: service.url });
  await page.getByRole('textbox', { name: 'Prompt' }).fill('Hello');
  await page.keyboard.press('Enter');
  const answer = page.getByRole('log', { name: 'Answer' });
  await answer.getByText('A long answer.').waitFor();
  expect((await answer.boundingBox())?.height).toBeLessThan(800);
  const atEnd = (box: Element) => box.scrollHeight - box.scrollTop - box.clientHeight < 2;
  await vi.waitFor(async () => expect(await answer.evaluate(atEnd)).toBe(true));
  expect(await answer.getByText('Answered by').count()).toBe(0);
  expect(await axeViolations(page, answer)).toEqual([]);
});
