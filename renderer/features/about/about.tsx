import { useEffect, useRef, useState } from 'react';
import type { Access, RememberedBrowser } from '../../api/access.ts';
import type { Answer } from '../../api/client.ts';
import { formatDuration, formatMoment } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { Fact } from '../../ui/facts.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';

export function About({ opened }: { readonly opened: string | null }) {
  const { access, data } = useWindow();
  const top = useRef<HTMLElement>(null);
  useEffect(() => {
    if (opened === 'about') top.current?.scrollIntoView();
  }, [opened]);
  const about = useReading(access.about, null, null, { longestMs: READ_AGAIN_MS });
  const tunnel = sshLine(location.href, data.app.baseUrl);
  return (
    <section className="panel about" aria-labelledby="about-title" ref={top}>
      <h2 id="about-title">{t.about.title}</h2>
      {about.value !== null && (
        <dl className="facts">
          <Fact label={t.about.version} value={about.value.version} />
          <Fact label={t.about.uptime} value={formatDuration(about.value.uptimeSeconds * 1000)} />
          <Fact
            label={t.about.platform}
            value={t.about.platformOf(about.value.platform, about.value.node)}
          />
          <Fact label={t.about.dataDirectory} value={about.value.dataDirectory} />
        </dl>
      )}
      <Browsers />
      <h3>{t.about.ssh.title}</h3>
      <p className="quiet">{t.about.ssh.text(tunnel.url)}</p>
      <CodeLine text={tunnel.line} what={t.about.ssh.what} />
      <Log />
    </section>
  );
}

const READ_AGAIN_MS = 60_000;
const { log } = t.about;

function Log() {
  const { access, frozenAt } = useWindow();
  const [answer, setAnswer] = useState<Answer<readonly string[] | null> | null>(null);
  const lines = answer?.ok ? answer.value : null;
  return (
    <>
      <h3>{log.title}</h3>
      <p className="row">
        <Button disabled={frozenAt !== null} onClick={() => void access.logs().then(setAnswer)}>
          {lines === null ? log.show : log.again}
        </Button>
        <Button disabled={frozenAt !== null} onClick={() => void download(access)}>
          {log.download}
        </Button>
        <span className="quiet">{log.downloadHint}</span>
      </p>
      {answer?.ok && lines === null && <p className="quiet">{log.none}</p>}
      {answer?.ok === false && <ErrorText text={answer.refusal.message} />}
      {lines !== null && (
        <textarea
          className="log-tail"
          readOnly
          rows={16}
          wrap="off"
          aria-label={log.label}
          value={lines.join('\n') || log.empty}
        />
      )}
    </>
  );
}

async function download(access: Access): Promise<void> {
  const blob = await access.diagnostics();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `inglenook-diagnostics-${new Date().toISOString().slice(0, 10)}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The SSH command by which another computer reaches a gateway on loopback, and the address to open there. */
function sshLine(page: string, baseUrl: string): { readonly line: string; readonly url: string } {
  const port = new URL(baseUrl).port || new URL(page).port || '80';
  const { hostname } = new URL(page);
  const isLoopback = /^(localhost|127\.|\[::1\])/.test(hostname);
  const host = `${t.about.ssh.user}@${isLoopback ? t.about.ssh.machine : hostname}`;
  return { line: `ssh -N -L ${port}:127.0.0.1:${port} ${host}`, url: `http://localhost:${port}/` };
}

const browserWords = t.about.browsers;

function Browsers() {
  const { access, frozenAt } = useWindow();
  const isLost = frozenAt !== null;
  const reading = useReading(access.browsers, null, null);
  const [problem, setProblem] = useState<string | null>(null);
  const after = (said: string | null) => {
    setProblem(said);
    reading.again();
  };
  const remember = async () => after(await access.remember(browserName(navigator.userAgent)));
  const forget = async ({ id }: RememberedBrowser) =>
    after((await access.forget(id))?.message ?? null);
  const [now] = useState(() => Date.now());
  return (
    <>
      <h3>{browserWords.title}</h3>
      <p className="quiet">{browserWords.text}</p>
      <ul className="browsers">
        {reading.value?.map((browser) => (
          <li key={browser.id} className="row">
            <span>
              {browser.name}{' '}
              <span className="quiet">
                {browserWords.used(
                  formatMoment(browser.createdAt, now),
                  formatMoment(browser.seenAt, now),
                )}
              </span>
            </span>
            <Button disabled={isLost} onClick={() => void forget(browser)}>
              {browserWords.forget(browser.name)}
            </Button>
          </li>
        ))}
      </ul>
      <Button disabled={isLost} onClick={() => void remember()}>
        {browserWords.remember}
      </Button>
      <ErrorText text={problem} />
    </>
  );
}

/** `Firefox on Linux`: enough for an owner to tell browsers apart. */
export function browserName(userAgent: string): string {
  const find = (names: readonly (readonly [pattern: RegExp, name: string])[], other: string) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? other;
  return browserWords.name(
    find(BROWSERS, browserWords.otherBrowser),
    find(SYSTEMS, browserWords.otherSystem),
  );
}

/** Most user agents also name other browsers, so the order matters. */
const BROWSERS = [
  [/Electron\//, browserWords.desktop],
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;

const SYSTEMS = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;
