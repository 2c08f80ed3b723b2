export const shell = {
  product: 'Inglenook',
  pageTitle: (headline: string) => `${headline} – Inglenook`,
  skip: 'Skip to content',
  connecting: 'Connecting…',
  noConnection: 'No connection yet.',
  reading: 'Loading…',
  crashed: (error: string) =>
    `Something went wrong on this page (${error}). Reload it; the gateway is still running.`,
  tabs: {
    label: 'Pages',
    overview: 'Overview',
    providers: 'Machines',
    requests: 'Requests',
    models: 'Models',
    history: 'History',
    settings: 'Settings',
  },
  baseUrl: 'Base URL',
  theBaseUrl: 'base URL',
  close: 'Close',
  cancel: 'Keep it',
  tryAgain: 'Try again',
  switch: { on: 'on', off: 'off' },
  copy: {
    idle: 'Copy',
    copied: 'Copied',
    refused: 'Copy failed',
    of: (what: string) => `Copy ${what}`,
    refusedAloud: 'The browser did not allow copying: select the text',
  },
  unreadable: (what: string) => `${what} could not be read`,
  lost: {
    since: (time: string) => `No connection to Inglenook since ${time}.`,
    stale: 'Showing the last known state. ',
    retrying: 'Reconnecting… If you stopped Inglenook, start it again.',
    retry: 'Try now',
  },
  noControl: (reason: string) => (
    <>
      <strong>You are not signed in.</strong> {reason} Run <code>inglenook open</code> on the
      gateway’s machine for a new sign-in link.
    </>
  ),
  readOnly: (command: string) => (
    <>
      <strong>This page is read-only.</strong> To change anything, run <code>{command} open</code>{' '}
      on this gateway’s machine: it opens the dashboard, signed in.
    </>
  ),
  readOnlyDemo: (
    <>
      <strong>This page is read-only.</strong> Open the link that the demo has printed; Enter there
      prints it again.
    </>
  ),
  locked: {
    title: 'Sign in',
    text: 'This gateway is protected by an API key. Enter it to view this page:',
    key: 'API key',
    open: 'Open',
    control:
      'To change settings too, run this on the gateway’s machine. It opens the dashboard, signed in:',
    command: 'command',
    waits: 'Checks again every few seconds.',
  },
  errors: {
    brokenAnswer: 'The gateway’s answer was cut off.',
    noAnswer: 'The gateway did not answer. Is it still running?',
    noSession: 'The gateway did not return a session.',
    wrongKey: 'The gateway does not accept this key.',
    status: (status: number) => `The gateway answered ${status}.`,
    nothingListens: (address: string) => `nothing listens at ${address}`,
    unknownHost: (host: string) => `no machine is known as ${host}`,
  },
};
