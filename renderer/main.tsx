import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { connectInglenook } from './api/inglenook.ts';
import * as t from './text/t.ts';

const place = document.getElementById('root');
if (!place) throw new Error('the page has no #root');

// Before the first render, while the address still contains the single-use code.
const inglenook = connectInglenook(window);

createRoot(place, {
  onUncaughtError: (error) => {
    document.body.textContent = t.shell.crashed(String(error));
  },
}).render(
  <StrictMode>
    <App inglenook={inglenook} />
  </StrictMode>,
);
