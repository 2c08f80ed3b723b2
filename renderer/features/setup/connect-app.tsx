import { useCallback, useState } from 'react';
import { hashOf } from '../../route.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';

/** The address of this gateway, whether it needs a key, and what each app wants to be told. */
export function ConnectApp() {
  const { data, control, actions } = useWindow();
  const { baseUrl } = data.app;
  const { keys } = actions;
  const read = useCallback(
    () => (control ? keys.list() : Promise.resolve(UNKNOWN)),
    [control, keys],
  );
  const { value } = useReading(read, null, null);
  const [name, choose] = useState(APPS[0].name);
  const app = APPS.find((each) => each.name === name) ?? APPS[0];
  const hasKeys = value !== null && value.keys.length + value.unnamed > 0;
  return (
    <div className="setup-form">
      <ol className="row" aria-label="Apps">
        {APPS.map((each) => (
          <li key={each.name}>
            <Button aria-pressed={each === app} onClick={() => choose(each.name)}>
              {each.name}
            </Button>
          </li>
        ))}
      </ol>
      <p className="quiet">{app.where}</p>
      <CodeLine text={app.text(baseUrl)} what={`settings of ${app.name}`} />
      <p className="quiet">
        {hasKeys
          ? 'It needs one of your keys: '
          : 'It needs no key; if an app insists, type anything. '}
        <a href={hashOf({ page: 'settings', section: 'keys' })}>Keys for apps</a>
      </p>
    </div>
  );
}

const UNKNOWN = { ok: false, refusal: { message: '', param: null }, status: null } as const;

interface App {
  readonly name: string;
  readonly where: string;
  readonly text: (baseUrl: string) => string;
}

const KEY = 'any-text-or-your-key';

const withoutVersion = (baseUrl: string): string => baseUrl.replace(/\/v1$/, '');

/** The same settings as in the pages of docs/get-started. */
const APPS: readonly [App, ...App[]] = [
  {
    name: 'Any OpenAI app',
    where: 'Where the app asks for an OpenAI-compatible API:',
    text: (url) => `Base URL  ${url}\nAPI key   ${KEY}\nModel     auto`,
  },
  {
    name: 'Open WebUI',
    where: 'Under Admin Settings, Connections, OpenAI. In a container, it is another machine.',
    text: (url) => `URL  ${url}\nKey  ${KEY}`,
  },
  {
    name: 'Claude Code',
    where: 'In the terminal:',
    text: (url) =>
      `export ANTHROPIC_BASE_URL=${withoutVersion(url)}\nexport ANTHROPIC_AUTH_TOKEN=${KEY}\nexport ANTHROPIC_MODEL=auto\nclaude`,
  },
  {
    name: 'Codex',
    where: 'In ~/.codex/config.toml:',
    text: (url) =>
      `model = "auto"\nmodel_provider = "inglenook"\n\n[model_providers.inglenook]\nname = "Inglenook"\nbase_url = "${url}"\nwire_api = "responses"`,
  },
  {
    name: 'curl',
    where: 'In the terminal:',
    text: (url) =>
      `curl ${url}/chat/completions -H 'Content-Type: application/json' \\\n  -d '{"model":"auto","messages":[{"role":"user","content":"Hello"}]}'`,
  },
];
