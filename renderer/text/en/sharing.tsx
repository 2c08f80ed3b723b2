import type { ReactNode } from 'react';

export const sharing = {
  title: 'Share on a network',
  hereOnly: 'this machine only',
  where: {
    title: '1. Where to listen',
    here: 'This machine only',
    hereText: 'Other machines cannot connect.',
    on: (interfaceName: string, isV6: boolean) =>
      `The network on ${interfaceName}${isV6 ? ' (IPv6)' : ''}`,
    onText: 'Apps on this machine keep using localhost.',
    all: 'All networks',
    allText: 'Including any that this machine joins later. Takes effect after a restart.',
    kept: 'The current address',
    keptText: 'It was set by hand.',
    now: 'now',
  },
  names: {
    title: '2. Host names',
    label: 'Host names to accept',
    example: 'gpu-box.local',
    text: 'The address always works. If other machines use a host name instead, list it here; separate several with commas.',
  },
  key: {
    title: '3. Key',
    needed:
      'Other machines need an API key. Once one exists, apps on this machine need one too; this dashboard does not.',
    present: 'There is a key already. Name another one to create it, or leave this empty.',
    label: 'Name for the new key',
    first: 'network',
    added: (name: string) => `Key “${name}” created. Copy it now: it is not shown again.`,
    what: 'key',
  },
  firewall: {
    title: '4. Firewall',
    linux: (port: string): ReactNode => (
      <>
        Linux does not ask. If a firewall is running, open the port, for example with{' '}
        <code>sudo ufw allow {port}/tcp</code>.
      </>
    ),
    darwin: (): ReactNode =>
      'If its firewall is on, macOS asks once whether to accept incoming connections: choose Allow.',
    win32: (): ReactNode =>
      'Windows asks once whether to let Inglenook through its firewall: allow private networks.',
    other: (port: string): ReactNode => `If this machine has a firewall, open port ${port}.`,
    none: 'Nothing to open: other machines cannot connect.',
  },
  apply: {
    none: 'Share',
    share: 'Share',
    unshare: 'Stop sharing',
    later: 'Save; applies after a restart',
  },
  held: (variable: ReactNode) => (
    <>The address is set by {variable}. Change it there and restart the gateway.</>
  ),
  link: {
    title: 'This dashboard on a phone or another computer',
    text: 'The first person to open this sign-in link can change settings. It works once.',
    show: 'Show the link and its QR code',
    again: 'New link',
    code: 'QR code of the sign-in link',
    what: 'sign-in link',
  },
  done: {
    now: (url: string) => (
      <>
        <strong>Now listening at {url}.</strong> Nothing was restarted; running requests continue.
      </>
    ),
    unshared: (
      <>
        <strong>Only this machine can connect now.</strong> Running requests from other machines may
        finish.
      </>
    ),
    atRestart: (url: string) => (
      <>
        <strong>Saved. Restart to listen at {url}.</strong> A running gateway cannot switch between
        one address and all of them on the same port.
      </>
    ),
    try: 'To test it, run this on another machine. It lists the models.',
    command: 'command',
    line: (url: string, key: string) => `curl ${url}/v1/models -H "Authorization: Bearer ${key}"`,
    anyKey: 'YOUR-KEY',
  },
};
