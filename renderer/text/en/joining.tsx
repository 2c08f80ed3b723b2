export const joining = {
  title: 'Add a machine',
  plainHttp: 'Continue over plain HTTP',
  creating: 'Creating a join command…',
  waiting: 'Waiting for the machine to join…',
  joined: (name: string) => <strong>{name} has joined.</strong>,
  state: {
    pending: 'It will be verified in a moment.',
    verifying: 'It is being verified: this gateway sends it a short request.',
    verified: 'It is verified, and serves from now on.',
    failed: 'It could not be verified yet. Inglenook tries again automatically.',
  },
  failure: (what: string, todo: string) => `${what} ${todo}`.trim(),
  see: (name: string) => `See ${name}`,
  steps: {
    engine: 'On the machine with the GPU, start its engine.',
    run: 'In a terminal on that machine, run one of these commands. Treat it like a password: it works once.',
    installed: 'Where Inglenook is installed',
    line: 'join command',
    paste: 'Or paste it into the dashboard there: Machines, “Join a gateway…”.',
    expired: 'These commands have expired.',
    renew: 'Make new ones',
    valid: (time: string) => `Valid for ${time}.`,
    appears: 'The machine appears in the list within seconds and is verified immediately.',
    reading: 'Reading the install command…',
    installOnceShared:
      'If Inglenook is not installed there: share this gateway, and an install command appears here.',
    noInstall: (reason: string) => `Nothing to install from here: ${reason}`,
    unix: 'Without Inglenook: Linux and macOS, with Node 24',
    windows: 'Windows PowerShell',
    installs: (version: string) =>
      `Installs Inglenook ${version} for the user who runs it. To check it first, open the address in the command and compare its SHA-256.`,
    installLine: 'install command',
    sha256: (sum: string) => (
      <>
        SHA-256 <code>{sum}</code>
      </>
    ),
  },
  warning: {
    hereOnly: 'Only this machine can use this command.',
    hereOnlyText: 'It names an address that other machines cannot reach.',
    mustReach: 'The other machine must be able to reach this gateway.',
    mustReachText:
      'You opened this page at an address that works on this machine only. If the gateway listens nowhere else:',
    share: 'Share this gateway on a network',
    plainHttp: (
      <>
        <strong>This gateway uses plain HTTP.</strong> Anyone who can listen in on the network can
        read prompts, answers and the join command itself. Continue only on a network that you
        trust, or over a tailnet, which encrypts it.
      </>
    ),
  },
};
