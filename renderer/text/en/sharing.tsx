import type { ReactNode } from 'react';

/** Letting other machines call this gateway. */
export const sharing = {
  title: 'Share on a network',
  hereOnly: 'this machine only',
  at: (url: string) => url,
  where: {
    title: '1. Where to listen',
    here: 'This machine only',
    hereText: 'No other machine can call.',
    on: (interfaceName: string) => `In the network of ${interfaceName}`,
    onText: 'This machine keeps its own address beside it.',
    all: 'In all networks',
    allText: 'Also in those that this machine joins later. Takes effect after a restart.',
    kept: 'As it is now',
    keptText: 'This address was set by hand.',
    now: 'now',
  },
  names: {
    title: '2. Names of this machine',
    label: 'Host names to accept',
    example: 'gpu-box.local',
    text: 'Others may call the address itself. If they use a name for it, list the name here; separate several with commas.',
  },
  key: {
    title: '3. Key',
    needed:
      'Other machines need a key. Once there is one, the apps on this machine need one as well; this window does not.',
    present: 'There is a key already. Create another one here, or leave this empty.',
    label: 'Name of the new key',
    first: 'network',
    added: (name: string) => `The key “${name}”. Copy it now: it is not shown again.`,
    what: 'key',
  },
  firewall: {
    title: '4. Firewall',
    linux: (port: string): ReactNode => (
      <>
        Linux does not ask. Where a firewall runs, open the port, such as with{' '}
        <code>sudo ufw allow {port}/tcp</code>.
      </>
    ),
    darwin: (): ReactNode =>
      'macOS asks once whether the program may accept incoming connections, if its firewall is on: choose Allow.',
    win32: (): ReactNode =>
      'Windows asks once whether to let the program through Windows Defender Firewall: allow it for private networks.',
    other: (port: string): ReactNode => `If this machine has a firewall, open port ${port} in it.`,
    none: 'Nothing to open: no other machine calls.',
  },
  apply: { share: 'Share', unshare: 'Stop sharing', later: 'Save for the restart' },
  held: (variable: ReactNode) => (
    <>The address is set by {variable}: change it there and restart the gateway.</>
  ),
  link: {
    title: 'This window on a phone or another computer',
    text: 'The link gives control to whoever opens it first. It works once.',
    show: 'Show the link and its QR code',
    again: 'Make another link',
    code: 'QR code of the link to this window',
    what: 'link',
  },
  done: {
    now: (url: string) => (
      <>
        <strong>Listening at {url} now.</strong> Nothing was restarted, and running requests go on.
      </>
    ),
    unshared: (
      <>
        <strong>Only this machine can call now.</strong> Requests from others that were running may
        finish.
      </>
    ),
    atRestart: (url: string) => (
      <>
        <strong>Saved; {url} works after a restart.</strong> A running program cannot change between
        one address and all of them on the same port.
      </>
    ),
    try: 'To try it, run this on another machine. It lists the models.',
    command: 'command',
    line: (url: string, key: string) => `curl ${url}/v1/models -H "Authorization: Bearer ${key}"`,
    anyKey: 'YOUR-KEY',
  },
};
