import type { ReactNode } from 'react';

/** Adding a machine to this gateway. */
export const joining = {
  title: 'Add a machine',
  plainHttp: 'Continue over plain HTTP',
  creating: 'Creating a join command…',
  joined: (name: string, link: (text: string) => ReactNode) => (
    <>
      <strong>{name} has joined.</strong> It is being verified: {link('see how that goes')}.
    </>
  ),
  steps: {
    engine: 'Start the engine of the machine that has the GPU.',
    run: 'In a terminal there, run the line that fits. Both are secret, and only one works, once.',
    installed: 'Where Switchyard is installed',
    line: 'line',
    paste: 'Or paste it in the window there: Providers, “Join a gateway…”.',
    expired: 'These lines have expired.',
    renew: 'Make new ones',
    valid: (time: string) => `Valid for ${time}.`,
    appears: 'The machine appears in the list within seconds and is verified at once.',
    reading: 'Reading the install command…',
    noInstall: (reason: string) => `Nothing to install from here: ${reason}`,
    unix: 'Without Switchyard: Linux and macOS, with Node 24',
    windows: 'Windows PowerShell',
    installs: (version: string) =>
      `Installs Switchyard ${version} for the user who runs it. To check it first, open the address in the line and compare its SHA-256.`,
    installLine: 'install line',
    sha256: (sum: string) => (
      <>
        SHA-256 <code>{sum}</code>
      </>
    ),
  },
  warning: {
    hereOnly: 'Only this machine can use this line.',
    hereOnlyText:
      'It names an address that other machines cannot reach. To let them in, start the gateway with:',
    mustReach: 'The other machine must be able to reach this gateway.',
    mustReachText:
      'This page came over an address that only this machine has. If the gateway listens nowhere else, start it with:',
    host: (variable: ReactNode) => (
      <>{variable}: this machine’s address in your network or tailnet</>
    ),
    keys: (variable: ReactNode) => (
      <>{variable}: a key of your own, which every client then needs</>
    ),
    plainHttp: (
      <>
        <strong>This gateway is reached over plain HTTP.</strong> Whoever can listen on the network
        between can read prompts and answers, and the line itself. Go on in a network that you
        trust, or over a tailnet, which keeps it private.
      </>
    ),
  },
};
