import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { connectInglenook } from './api/inglenook.ts';

const place = document.getElementById('root');
if (!place) throw new Error('the page has no #root');

// This runs before the first render, while the address still contains the single-use code.
const inglenook = connectInglenook(window);

createRoot(place, {
  onUncaughtError: (error) => {
    document.body.textContent = `Something went wrong on this page (${String(error)}). Reload it; the gateway is still running.`;
  },
}).render(
  <StrictMode>
    <App inglenook={inglenook} />
  </StrictMode>,
);
