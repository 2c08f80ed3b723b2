import { useCallback, useEffect, useRef, useState } from 'react';
import type { Access } from '../../api/access.ts';
import { formatDuration } from '../../text/format.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { Browsers } from './browsers.tsx';
import { sshLine } from './ssh-line.ts';

interface AboutProps {
  readonly access: Access;
  readonly baseUrl: string;
  readonly isLost: boolean;
  /** The section that the address names; the tray's menu names this one. */
  readonly opened: string | null;
}

/** Standing access, and what an owner looks up when something is wrong. */
export function About({ access, baseUrl, isLost, opened }: AboutProps) {
  const top = useRef<HTMLElement>(null);
  useEffect(() => {
    if (opened === 'about') top.current?.scrollIntoView();
  }, [opened]);
  const about = useReading(access.about, null, null, { longestMs: READ_AGAIN_MS });
  const tunnel = sshLine(location.href, baseUrl);
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
      <Browsers access={access} isLost={isLost} />
      <h3>From another computer, through SSH</h3>
      <p className="quiet">Keep this running there, then open {tunnel.url}.</p>
      <CodeLine text={tunnel.line} what="SSH command" />
      <Log access={access} isLost={isLost} />
    </section>
  );
}

const READ_AGAIN_MS = 60_000;

function Log({ access, isLost }: Pick<AboutProps, 'access' | 'isLost'>) {
  const [lines, setLines] = useState<readonly string[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const show = useCallback(async () => {
    const answer = await access.logs();
    setLines(answer.ok ? answer.value : null);
    const none = 'The log goes to the console, the journal or the container, not to a file.';
    setProblem(answer.ok ? (answer.value === null ? none : null) : answer.refusal.message);
  }, [access]);
  return (
    <>
      <h3>Log</h3>
      <p className="about-actions">
        <button type="button" className="button" disabled={isLost} onClick={() => void show()}>
          {lines === null ? 'Show the log' : 'Read again'}
        </button>
        <button
          type="button"
          className="button"
          disabled={isLost}
          onClick={() => void download(access)}
        >
          Download diagnostics
        </button>
        <span className="quiet">Status, masked settings, machines and log, as JSON.</span>
      </p>
      <ErrorText text={problem} />
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
  const blob = new Blob([await access.diagnostics()], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `switchyard-diagnostics-${new Date().toISOString().slice(0, 10)}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function Fact({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
