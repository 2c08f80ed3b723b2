import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { SettingsView, SettingView } from '#shared/settings.ts';
import * as t from '../../text/t.ts';
import { ErrorText, Form, TextField } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { encode } from 'uqr';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import type { AddedKey } from '#shared/keys.ts';
import type { Sharing, SharingChanged } from '#shared/sharing.ts';

interface SharingSectionProps {
  readonly view: SettingsView;
  readonly revision: number;
  readonly onChanged: () => void;
  readonly aimedAt: boolean;
}

const words = t.sharing;

export function SharingSection({ view, revision, onChanged, aimedAt }: SharingSectionProps) {
  const { actions } = useWindow();
  const sharing = useReading(actions.sharing.read, revision, null);
  const keys = useReading(actions.keys.list, revision, null);
  const top = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (aimedAt) top.current?.scrollIntoView();
  }, [aimedAt]);
  const failure = sharing.failure ?? keys.failure;
  const now = sharing.value;
  return (
    <details className="panel settings-section" ref={top} open={aimedAt}>
      <summary>
        <h2>{words.title}</h2>
        <span className="settings-summary quiet one-line">
          {now !== null && (now.isShared ? now.url : words.hereOnly)}
        </span>
      </summary>
      {now !== null && keys.value !== null && (
        <SharingForm
          sharing={now}
          hasKeys={keys.value.keys.length + keys.value.unnamed > 0}
          view={view}
          onChanged={onChanged}
        />
      )}
      {now?.isShared === true && <WindowLink url={now.url} />}
      <ErrorText text={failure?.refusal.message ?? null} />
    </details>
  );
}

const linkWords = t.sharing.link;

/** Creates a link to this window at `url` for a phone or another computer, which works once. */
function WindowLink({ url }: { readonly url: string }) {
  const { newLink } = useWindow().actions.sharing;
  const [link, setLink] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const show = async (): Promise<void> => {
    const answer = await newLink();
    setError(answer.ok ? null : answer.refusal.message);
    // The gateway's link has the address for this machine; its code is valid at every address.
    setLink(answer.ok ? `${url}/${new URL(answer.value).hash}` : null);
  };
  return (
    <section className="sharing-link">
      <h3>{linkWords.title}</h3>
      <p className="quiet">{linkWords.text}</p>
      {link !== null && (
        <>
          <QrCode text={link} label={linkWords.code} />
          <CodeLine text={link} what={linkWords.what} />
        </>
      )}
      <Button onClick={() => void show()}>
        {link === null ? linkWords.show : linkWords.again}
      </Button>
      <ErrorText text={error} />
    </section>
  );
}

/** Light modules that the standard requires around the code. */
const QUIET_ZONE = 4;

/** A QR code, dark on light in both themes, because not every reader accepts inverted ones. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg className="qr-code" aria-label={label} viewBox={`0 0 ${size} ${size}`}>
      <path d={path} shapeRendering="crispEdges" />
    </svg>
  );
}

interface SharingFormProps {
  readonly sharing: Sharing;
  readonly hasKeys: boolean;
  readonly view: SettingsView;
  readonly onChanged: () => void;
}

export function SharingForm({ sharing, hasKeys, view, onChanged }: SharingFormProps) {
  const { host: hostSetting, allowedHosts } = view['gateway'] ?? {};
  const isHeld = hostSetting?.source === 'env';
  const saved = namesOf(allowedHosts);
  const [host, setHost] = useState(chosenAtFirst(sharing.host));
  const [names, setNames] = useState(() => saved.join(', '));
  const [keyName, setKeyName] = useState(hasKeys ? '' : words.key.first);
  const { added, done, error, isBusy, apply } = useApplying(saved);
  const note = useId();
  const isOutside = !isHereOnly(host);
  const applying = applyingOf(sharing.host, hostSetting, host);
  // Nobody may reach the gateway from outside while it asks for no key.
  const isNameMissing = () => isOutside && !hasKeys && added === null && keyName.trim() === '';
  return (
    <Form
      className="sharing"
      onSend={async () => {
        const newKey = isOutside && added === null ? keyName.trim() : '';
        await apply({ host, names: isOutside ? namesIn(names) : saved, newKey });
        onChanged();
      }}
    >
      {isHeld && <p className="notice">{words.held(<code>{hostSetting.env}</code>)}</p>}
      <fieldset className="sharing-step" disabled={isHeld}>
        <legend>{words.where.title}</legend>
        {choicesOf(sharing).map((choice) => (
          <label key={choice.host} className="sharing-place">
            <input
              type="radio"
              name="host"
              checked={choice.host === host}
              onChange={() => setHost(choice.host)}
            />
            <span>
              <strong>{choice.label}</strong> <code>{choice.host}</code>
              {choice.host === chosenAtFirst(sharing.host) && (
                <span className="sharing-now">{words.where.now}</span>
              )}
              <span className="quiet">{choice.text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {isOutside && (
        <>
          <Step title={words.names.title}>
            <TextField
              label={words.names.label}
              value={names}
              placeholder={words.names.example}
              disabled={allowedHosts?.source === 'env'}
              aria-describedby={`${note}-names`}
              onChange={setNames}
            />
            <p className="quiet" id={`${note}-names`}>
              {words.names.text}
            </p>
          </Step>
          <Step title={words.key.title}>
            {added === null ? (
              <>
                <TextField
                  label={words.key.label}
                  value={keyName}
                  aria-describedby={`${note}-key`}
                  onChange={setKeyName}
                />
                <p className="quiet" id={`${note}-key`}>
                  {hasKeys ? words.key.present : words.key.needed}
                </p>
              </>
            ) : (
              <>
                <p>{words.key.added(added.name)}</p>
                <CodeLine text={added.key} what={words.key.what} />
              </>
            )}
          </Step>
          <Step title={words.firewall.title}>
            <p className="quiet">{firewallNote(sharing, host)}</p>
          </Step>
        </>
      )}
      <Button
        type="submit"
        data-primary
        disabled={isHeld || isBusy || applying === 'none' || isNameMissing()}
      >
        {words.apply[applying]}
      </Button>
      <ErrorText text={error} />
      <output className="sharing-done">
        {done !== null && <Done done={done} added={added} />}
      </output>
    </Form>
  );
}

const namesOf = (setting: SettingView | undefined) => (setting?.value ?? []) as readonly string[];

function Step({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="sharing-step">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Done({ done, added }: { readonly done: Applied; readonly added: AddedKey | null }) {
  const { applied, url, host } = done;
  if (applied === 'now' && isHereOnly(host)) return <p>{words.done.unshared}</p>;
  return (
    <>
      <p>{applied === 'now' ? words.done.now(url) : words.done.atRestart(url)}</p>
      {!isHereOnly(host) && (
        <>
          <p>{words.done.try}</p>
          <CodeLine
            text={words.done.line(url, added?.key ?? words.done.anyKey)}
            what={words.done.command}
          />
        </>
      )}
    </>
  );
}

interface SharingChange {
  readonly host: string;
  readonly names: readonly string[];
  /** Empty: none. */
  readonly newKey: string;
}

type Applied = SharingChanged & Pick<SharingChange, 'host'>;

/** Applies key, host names and address in this order: the gateway must not be reachable before there is a key. */
function useApplying(savedNames: readonly string[]) {
  const { actions } = useWindow();
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [done, setDone] = useState<Applied | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);

  /** Resolves with an error message, or null. */
  async function run({ host, names, newKey }: SharingChange): Promise<string | null> {
    if (newKey !== '') {
      const key = await actions.keys.add(newKey);
      if (!key.ok) return key.refusal.message;
      setAdded(key.value);
    }
    if (names.join() !== savedNames.join()) {
      const refusal = await actions.saveSettings({ gateway: { allowedHosts: names } });
      if (refusal !== null) return refusal.message;
    }
    const changed = await actions.sharing.change(host);
    if (!changed.ok) return changed.refusal.message;
    setDone({ ...changed.value, host });
    return null;
  }
  const apply = async (change: SharingChange): Promise<void> => {
    setIsBusy(true);
    setDone(null);
    setError(await run(change));
    setIsBusy(false);
  };
  return { added, done, error, isBusy, apply };
}

const HERE = '127.0.0.1';
const ALL = '0.0.0.0';

const isHereOnly = (host: string): boolean => /^(localhost|127\.|\[?::1)/.test(host);

function choicesOf({ host, addresses }: Sharing) {
  const { where } = words;
  const choices = [
    { host: HERE, label: where.here, text: where.hereText },
    ...addresses.map(({ address, interfaceName }) => ({
      host: address,
      label: where.on(interfaceName, address.includes(':')),
      text: where.onText,
    })),
    { host: ALL, label: where.all, text: where.allText },
  ];
  const isListed = choices.some((choice) => choice.host === chosenAtFirst(host));
  return isListed ? choices : [...choices, { host, label: where.kept, text: where.keptText }];
}

const chosenAtFirst = (host: string): string => (host === 'localhost' ? HERE : host);

/** When a choice takes effect; a change between one address and all needs a restart. */
function applyingOf(
  before: string,
  saved: SettingView | undefined,
  host: string,
): 'none' | 'share' | 'unshare' | 'later' {
  if ([before, String(saved?.value), host].every(isHereOnly)) return 'none';
  const isBetween = before !== host && [before, host].some((each) => each === ALL || each === '::');
  if (isBetween) return 'later';
  return isHereOnly(host) ? 'unshare' : 'share';
}

function firewallNote({ platform, url }: Sharing, host: string): ReactNode {
  const { firewall } = words;
  if (isHereOnly(host)) return firewall.none;
  const known = platform === 'linux' || platform === 'darwin' || platform === 'win32';
  return firewall[known ? platform : 'other'](new URL(url).port || '80');
}

const namesIn = (text: string): readonly string[] =>
  text.split(/[\s,]+/).filter((name) => name !== '');
