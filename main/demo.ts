import { runDemo } from './demo/terminal.ts';

await runDemo();
