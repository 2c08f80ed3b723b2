import { useEffect, useState } from 'react';
import type { InstallLine, InstallLines } from '#shared/install.ts';
import type { Answer } from '../../api/call.ts';
import type { Enrollment } from '../../api/providers.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { lineWith, validityText } from './provider-join.ts';

interface JoinStepsProps {
  readonly enrollment: Enrollment;
  readonly readInstall: () => Promise<Answer<InstallLines>>;
  readonly serverNow: number;
  readonly onRenew: () => void;
}

/** How another machine joins: with the program on it already, or installed from this gateway. */
export function JoinSteps({ enrollment, readInstall, serverNow, onRenew }: JoinStepsProps) {
  const left = validityText(enrollment.expires_at, serverNow);
  return (
    <ol className="steps">
      <li>Start the engine of the machine that has the GPU.</li>
      <li>
        In a terminal there, run the line that fits. Both are secret, and only one works, once.
        <Installers token={enrollment.token} readInstall={readInstall} />
        <h3>Where Switchyard is installed</h3>
        <CodeLine text={enrollment.join} what="line" />
        <p className="install-note">
          Or paste it in the window there: Providers, “Join a gateway…”.
        </p>
        <p className="validity">
          {left === null ? (
            <>
              <strong>These lines have expired.</strong>{' '}
              <button type="button" className="button" onClick={onRenew}>
                Make new ones
              </button>
            </>
          ) : (
            <>Valid for {left}.</>
          )}
        </p>
      </li>
      <li>The machine appears in the list within seconds and is verified at once.</li>
    </ol>
  );
}

function Installers({ token, readInstall }: Pick<JoinStepsProps, 'readInstall'> & TokenProps) {
  const [answer, setAnswer] = useState<Answer<InstallLines> | null>(null);
  useEffect(() => void readInstall().then(setAnswer), [readInstall]);
  if (answer === null) return <p className="install-note">Reading the install command…</p>;
  if (!answer.ok) {
    return <p className="install-note">Nothing to install from here: {answer.refusal.message}</p>;
  }
  const { version, unix, windows } = answer.value;
  return (
    <>
      <h3>Without Switchyard: Linux and macOS, with Node 24</h3>
      <Installer {...unix} token={token} />
      <details>
        <summary>Windows PowerShell</summary>
        <Installer {...windows} token={token} />
      </details>
      <p className="install-note">
        Installs Switchyard {version} for the user who runs it. To check it first, open the address
        in the line and compare its SHA-256.
      </p>
    </>
  );
}

interface TokenProps {
  readonly token: string;
}

function Installer({ line, sha256, token }: InstallLine & TokenProps) {
  return (
    <>
      <CodeLine text={lineWith(line, token)} what="install line" />
      <p className="install-note">
        SHA-256 <code>{sha256}</code>
      </p>
    </>
  );
}
