import { useEffect, useState } from 'react';
import type { InstallLine, InstallLines } from '#shared/install.ts';
import type { Provider } from '#shared/provider.ts';
import type { Answer } from '../../api/client.ts';
import type { Enrollment, Machines } from '../../api/providers.ts';
import { hashOf } from '../../route.ts';
import * as t from '../../text/t.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useServerNow, useWindow } from '../../window-context.ts';
import { gatewayOf, joinNoteOf, JoinWarning, validityText } from './join-warning.tsx';
import { namesOf, providerName, providerWords, standingOf } from './provider-standing.ts';

interface AddMachineProps {
  /** Null until it has been read. */
  readonly list: Machines | null;
  readonly onClose: () => void;
}

export function AddMachine({ list, onClose }: AddMachineProps) {
  const { enroll } = useWindow().registry;
  const [before, setBefore] = useState(() => idsOf(list));
  // A machine may have joined before this list was read for the first time.
  if (before === null && list !== null) setBefore(idsOf(list));
  const [answer, setAnswer] = useState<Answer<Enrollment> | null>(null);
  const pageNote = joinNoteOf(location.href);
  const asksFirst = pageNote === 'unencrypted';
  const joined = list?.data.find(({ id }) => before?.has(id) === false);
  const nameOf = (machine: Provider) =>
    namesOf(list ?? { data: [] }).get(machine.id) ?? providerName(machine);

  useEffect(() => {
    if (!asksFirst) void enroll().then(setAnswer);
  }, [asksFirst, enroll]);
  const make = (): void => void enroll().then(setAnswer);
  const enrollment = answer?.ok ? answer.value : null;
  const error = answer && !answer.ok ? answer.refusal.message : null;

  const note = enrollment ? joinNoteOf(gatewayOf(enrollment.join) ?? location.href) : pageNote;
  return (
    <Modal title="Add a machine" onClose={onClose}>
      {joined === undefined && (
        <>
          <JoinWarning note={note} certain={enrollment !== null} />
          {enrollment === null ? (
            <NoCommand {...{ asksFirst, error }} onMake={make} />
          ) : (
            <JoinSteps enrollment={enrollment} onRenew={make} />
          )}
        </>
      )}
      <output className="joined">
        {joined !== undefined && (
          <>
            <strong>{nameOf(joined)} has joined.</strong>{' '}
            {t.joining.state[joined.verification.status]}
          </>
        )}
        {joined === undefined && enrollment !== null && (
          <span className="waiting-for">Waiting for the machine to join…</span>
        )}
      </output>
      {joined !== undefined && <Joined machine={joined} name={nameOf(joined)} />}
    </Modal>
  );
}

const idsOf = (list: Machines | null) =>
  list === null ? null : new Set(list.data.map(({ id }) => id));

interface NoCommandProps {
  /** Makes no token before the owner asks for one. */
  readonly asksFirst: boolean;
  readonly error: string | null;
  readonly onMake: () => void;
}

function NoCommand({ asksFirst, error, onMake }: NoCommandProps) {
  if (error !== null) {
    return (
      <>
        <ErrorText text={error} />
        <Button onClick={onMake}>{t.shell.tryAgain}</Button>
      </>
    );
  }
  if (!asksFirst) return <p className="quiet">Creating a join command…</p>;
  return (
    <Button data-primary onClick={onMake}>
      Continue over plain HTTP
    </Button>
  );
}

/** What is to be done about the machine that joined; its command is used up, and no longer shown. */
function Joined({ machine, name }: { readonly machine: Provider; readonly name: string }) {
  const { what, todo } = providerWords(standingOf(machine, undefined), useServerNow());
  return (
    <>
      {machine.verification.status === 'failed' && (
        <ErrorText text={`${what ?? ''} ${todo ?? ''}`.trim()} />
      )}
      <p className="modal-text">
        <a className="button" href={hashOf({ page: 'provider', id: machine.id })}>
          {`See ${name}`}
        </a>
      </p>
    </>
  );
}

interface JoinStepsProps {
  readonly enrollment: Enrollment;
  readonly onRenew: () => void;
}
/** HTTP status if the gateway's address cannot be used by other machines. */
const NOT_SHARED_STATUS = 409;

function JoinSteps({ enrollment, onRenew }: JoinStepsProps) {
  const left = validityText(enrollment.expires_at, useServerNow());
  return (
    <ol className="steps">
      <li>On the machine with the GPU, start its engine.</li>
      <li>
        In a terminal on that machine, run the command for it. Treat it like a password: it works
        once.
        <Installers token={enrollment.token} />
        <h3>Where Inglenook is installed</h3>
        <CodeLine text={enrollment.join} what="join command" />
        <p className="install-note quiet">
          Or paste it into the dashboard there: Machines, “Join a gateway…”.
        </p>
        <p className="validity quiet">
          {left === null ? (
            <>
              <strong>These commands have expired.</strong>{' '}
              <Button onClick={onRenew}>Make new ones</Button>
            </>
          ) : (
            `Valid for ${left}.`
          )}
        </p>
      </li>
      <li>The machine appears in the list within seconds and is tested immediately.</li>
    </ol>
  );
}

function Installers({ token }: { readonly token: string }) {
  const { readInstall } = useWindow().registry;
  const [answer, setAnswer] = useState<Answer<InstallLines> | null>(null);
  useEffect(() => void readInstall().then(setAnswer), [readInstall]);
  if (answer === null) return <p className="install-note quiet">Reading the install command…</p>;
  if (!answer.ok) {
    const isShared = answer.status !== NOT_SHARED_STATUS;
    return (
      <p className="install-note quiet">
        {isShared
          ? `Nothing to install from here: ${answer.refusal.message}`
          : 'If Inglenook is not installed there: share this gateway, and an install command appears here.'}
      </p>
    );
  }
  const { version, unix, windows } = answer.value;
  return (
    <>
      <h3>Without Inglenook: Linux and macOS, with Node 24</h3>
      <Installer {...unix} token={token} />
      <details>
        <summary>Windows PowerShell</summary>
        <Installer {...windows} token={token} />
      </details>
      <p className="install-note quiet">{`Installs Inglenook ${version} for the user who runs it. To check it first, open the address in the command and compare its SHA-256.`}</p>
    </>
  );
}

function Installer({ line, sha256, token }: InstallLine & { readonly token: string }) {
  return (
    <>
      <CodeLine text={line.replace('<token>', token)} what="install command" />
      <p className="install-note quiet">
        SHA-256 <code>{sha256}</code>
      </p>
    </>
  );
}
