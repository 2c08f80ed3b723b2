import { useEffect, useRef, useState } from 'react';
import type { Access, RememberedBrowser } from '../../api/access.ts';
import type { Answer } from '../../api/client.ts';
import { formatDuration, formatMoment } from '../../text/format.ts';
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
      <h2 id="about-title">About and access</h2>
      {about.value !== null && (
        <dl className="facts">
          <Fact label="Version" value={about.value.version} />
          <Fact label="Running for" value={formatDuration(about.value.uptimeSeconds * 1000)} />
          <Fact label="Runs on" value={`${about.value.platform}, Node ${about.value.node}`} />
          <Fact label="Data directory" value={about.value.dataDirectory} />
        </dl>
      )}
      <Browsers />
      <h3>From another computer, through SSH</h3>
      <p className="quiet">{`Leave this running on the other computer, then open ${tunnel.url} there.`}</p>
      <CodeLine text={tunnel.line} what="SSH command" />
      <Log />
    </section>
  );
}

const READ_AGAIN_MS = 60_000;

function Log() {
  const { access, frozenAt } = useWindow();
  const [answer, setAnswer] = useState<Answer<readonly string[] | null> | null>(null);
  const lines = answer?.ok ? answer.value : null;
  return (
    <>
      <h3>Log</h3>
      <p className="row">
        <Button disabled={frozenAt !== null} onClick={() => void access.logs().then(setAnswer)}>
          {lines === null ? 'Show the log' : 'Refresh'}
        </Button>
        <Button disabled={frozenAt !== null} onClick={() => void download(access)}>
          Download diagnostics
        </Button>
        <span className="quiet">
          A file with status, settings, machines and log. Secrets are masked.
        </span>
      </p>
      {answer?.ok && lines === null && (
        <p className="quiet">
          This gateway logs to the console, the journal or the container, not to a file.
        </p>
      )}
      {answer?.ok === false && <ErrorText text={answer.refusal.message} />}
      {lines !== null && (
        <textarea
          className="log-tail"
          readOnly
          rows={16}
          wrap="off"
          aria-label="End of the log"
          value={lines.join('\n') || 'The log is empty.'}
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
  const host = `user@${isLoopback ? 'this-machine' : hostname}`;
  return { line: `ssh -N -L ${port}:127.0.0.1:${port} ${host}`, url: `http://localhost:${port}/` };
}

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
      <h3>Remembered browsers</h3>
      <p className="quiet">
        They stay signed in after a restart, until you forget them here or they go unused for 90
        days.
      </p>
      <ul className="browsers">
        {reading.value?.map((browser) => (
          <li key={browser.id} className="row">
            <span>
              {browser.name}{' '}
              <span className="quiet">
                {`since ${formatMoment(browser.createdAt, now)}, used ${formatMoment(browser.seenAt, now)}`}
              </span>
            </span>
            <Button disabled={isLost} onClick={() => void forget(browser)}>
              Forget<span className="unseen"> {browser.name}</span>
            </Button>
          </li>
        ))}
      </ul>
      <Button disabled={isLost} onClick={() => void remember()}>
        Remember this browser
      </Button>
      <ErrorText text={problem} />
    </>
  );
}

/** `Firefox on Linux`: enough for an owner to tell browsers apart. */
export function browserName(userAgent: string): string {
  const find = (names: readonly (readonly [pattern: RegExp, name: string])[], other: string) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? other;
  return `${find(BROWSERS, 'Browser')} on ${find(SYSTEMS, 'another system')}`;
}

/** Most user agents also name other browsers, so the order matters. */
const BROWSERS = [
  [/Electron\//, 'Desktop app'],
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
