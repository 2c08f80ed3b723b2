import { useEffect, useState } from 'react';
import type { InstallLine, InstallLines } from '#shared/install.ts';
import type { Provider } from '#shared/provider.ts';
import type { Answer } from '../../api/client.ts';
import type { Enrollment } from '../../api/providers.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { CodeLine } from '../../ui/code-line.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useWindow } from '../../window-context.ts';
import { gatewayOf, joinNoteOf, JoinWarning, lineWith, validityText } from './join-warning.tsx';
import { providerName } from './provider-standing.ts';

interface AddMachineProps {
  readonly known: readonly Provider[];
  readonly serverNow: number;
  readonly onClose: () => void;
}

export function AddMachine({ known, serverNow, onClose }: AddMachineProps) {
  const { enroll } = useWindow().registry;
  const [before] = useState(() => new Set(known.map(({ id }) => id)));
  const [answer, setAnswer] = useState<Answer<Enrollment> | null>(null);
  const pageNote = joinNoteOf(location.href);
  const asksFirst = pageNote === 'plain-http';
  const joined = known.find(({ id }) => !before.has(id));

  useEffect(() => {
    if (!asksFirst) void enroll().then(setAnswer);
  }, [asksFirst, enroll]);
  const make = (): void => void enroll().then(setAnswer);
  const enrollment = answer?.ok ? answer.value : null;
  const error = answer && !answer.ok ? answer.refusal.message : null;

  const note = enrollment ? joinNoteOf(gatewayOf(enrollment.join) ?? location.href) : pageNote;
  return (
    <Modal title={t.joining.title} onClose={onClose}>
      <JoinWarning note={note} certain={enrollment !== null} />
      {enrollment ? (
        <JoinSteps {...{ enrollment, serverNow }} onRenew={make} />
      ) : (
        asksFirst && (
          <Button data-primary onClick={make}>
            {t.joining.plainHttp}
          </Button>
        )
      )}
      {!enrollment && !asksFirst && error === null && <p className="quiet">{t.joining.creating}</p>}
      <ErrorText text={error} />
      {error !== null && <Button onClick={make}>{t.shell.tryAgain}</Button>}
      <output className="joined">
        {joined &&
          t.joining.joined(providerName(joined), (text) => (
            <a href={hashOf({ page: 'provider', id: joined.id })}>{text}</a>
          ))}
      </output>
    </Modal>
  );
}

interface JoinStepsProps {
  readonly enrollment: Enrollment;
  readonly serverNow: number;
  readonly onRenew: () => void;
}

const words = t.joining.steps;
/** HTTP status if the gateway's address cannot be used by other machines. */
const NOT_SHARED_STATUS = 409;

/** How another machine joins: with Switchyard installed, or installing it from this gateway. */
function JoinSteps({ enrollment, serverNow, onRenew }: JoinStepsProps) {
  const left = validityText(enrollment.expires_at, serverNow);
  return (
    <ol className="steps">
      <li>{words.engine}</li>
      <li>
        {words.run}
        <Installers token={enrollment.token} />
        <h3>{words.installed}</h3>
        <CodeLine text={enrollment.join} what={words.line} />
        <p className="install-note">{words.paste}</p>
        <p className="validity">
          {left === null ? (
            <>
              <strong>{words.expired}</strong> <Button onClick={onRenew}>{words.renew}</Button>
            </>
          ) : (
            words.valid(left)
          )}
        </p>
      </li>
      <li>{words.appears}</li>
    </ol>
  );
}

function Installers({ token }: TokenProps) {
  const { readInstall } = useWindow().registry;
  const [answer, setAnswer] = useState<Answer<InstallLines> | null>(null);
  useEffect(() => void readInstall().then(setAnswer), [readInstall]);
  if (answer === null) return <p className="install-note">{words.reading}</p>;
  if (!answer.ok) {
    const isShared = answer.status !== NOT_SHARED_STATUS;
    return (
      <p className="install-note">
        {isShared ? words.noInstall(answer.refusal.message) : words.installOnceShared}
      </p>
    );
  }
  const { version, unix, windows } = answer.value;
  return (
    <>
      <h3>{words.unix}</h3>
      <Installer {...unix} token={token} />
      <details>
        <summary>{words.windows}</summary>
        <Installer {...windows} token={token} />
      </details>
      <p className="install-note">{words.installs(version)}</p>
    </>
  );
}

interface TokenProps {
  readonly token: string;
}

function Installer({ line, sha256, token }: InstallLine & TokenProps) {
  return (
    <>
      <CodeLine text={lineWith(line, token)} what={words.installLine} />
      <p className="install-note">{words.sha256(sha256)}</p>
    </>
  );
}
